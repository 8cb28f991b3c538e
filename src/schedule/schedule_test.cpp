#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "graph/autodiff.h"
#include "graph/ops/activation.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "graph/ops/optimizer.h"
#include "graph/ops/shape_ops.h"
#include "schedule/build.h"
#include "schedule/memory_plan.h"

namespace headway::schedule {
namespace {

// Two buffers alive together never overlap, whatever the lifetimes; the plan is at least the peak.
TEST(MemoryPlan, NeverOverlapsWhatIsAliveTogether) {
  for (std::uint32_t round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes;
    const auto draw = [&](std::uint32_t stream, std::uint64_t index, std::uint32_t limit) {
      return static_cast<std::int64_t>(random_bits(3, stream, round, index) % limit);
    };
    for (std::uint64_t index = 0; index < 60; ++index) {
      const std::int64_t first = draw(1, index, 40);
      lifetimes.push_back({Bytes(draw(0, index, 5000)), first, first + draw(2, index, 15)});
    }
    const MemoryPlan plan = plan_memory(lifetimes);
    EXPECT_GE(plan.size, plan.live_peak);
    for (std::size_t a = 0; a < lifetimes.size(); ++a) {
      EXPECT_EQ(plan.offsets[a].value % kAlignment, 0);
      EXPECT_LE(plan.offsets[a] + lifetimes[a].size, plan.size);
      for (std::size_t b = 0; b < a; ++b) {
        const bool together = lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
        const bool apart = plan.offsets[a] + lifetimes[a].size <= plan.offsets[b] ||
                           plan.offsets[b] + lifetimes[b].size <= plan.offsets[a];
        EXPECT_TRUE(!together || apart || lifetimes[a].size.value == 0 || lifetimes[b].size.value == 0);
      }
    }
  }
}

// Hand-solved: a (128 at 0..1), b (64 at 1..2), c (128 at 2..3). The peak is 192; c takes a's place.
TEST(MemoryPlan, ReusesWhatIsDead) {
  const MemoryPlan plan = plan_memory({{Bytes(128), 0, 1}, {Bytes(64), 1, 2}, {Bytes(128), 2, 3}});
  EXPECT_EQ(plan.live_peak, Bytes(192));
  EXPECT_EQ(plan.size, Bytes(192));
}

graph::Graph small_graph(std::int64_t accumulate) {
  graph::Graph graph;
  const graph::ValueId input = graph.add_input("input", {DType::kF32, {8, 6}});
  const graph::ValueId target = graph.add_input("target", {DType::kF32, {8, 2}});
  graph.set_scope("first");
  const graph::ValueId w1 = graph.add_parameter("w1", {16, 6}, {});
  graph::ValueId x = linear(graph, input, w1);
  x = activation(graph, x, graph::Activation::kGeluErf);
  x = reshape(graph, x, {8, 16});
  graph.set_scope("second");
  x = linear(graph, x, graph.add_parameter("w2", {2, 16}, {}));
  graph.add_output("loss", mse(graph, x, target));
  graph::OptimizerSpec spec;
  spec.clip = 1;
  spec.accumulate = accumulate;
  add_optimizer(graph, differentiate(graph, graph.find("loss")), spec);
  return graph;
}

Schedule small_schedule(std::int64_t accumulate = 1) {
  return build_schedule(small_graph(accumulate), {.micro_batches = accumulate, .workspace = {}});
}

TEST(Schedule, VerifiesAndPrints) {
  for (const std::int64_t accumulate : {1, 3}) {
    const Schedule schedule = small_schedule(accumulate);
    EXPECT_NO_THROW(verify(schedule));
    const std::string text = to_string(schedule);
    EXPECT_NE(text.find("segment 0 forward"), std::string::npos);
    EXPECT_NE(text.find("program all x 1: forward.0@0 backward.0@0"), std::string::npos) << text;
    EXPECT_EQ(schedule.programs[0].items.size(), static_cast<std::size_t>(2 * accumulate + 1));
    EXPECT_EQ(text, to_string(small_schedule(accumulate)));
  }
}

TEST(Schedule, ViewsAndUpdatesShareBuffers) {
  const Schedule schedule = small_schedule();
  for (const graph::Node& node : schedule.graph.nodes()) {
    const auto buffer = [&](graph::ValueId value) { return schedule.buffer_of_value[static_cast<std::size_t>(value)]; };
    if (node.op->is_view()) {
      EXPECT_EQ(buffer(node.inputs[0]), buffer(node.outputs[0]));
    }
    for (const graph::Alias& alias : node.op->aliases(node.attributes, static_cast<std::int64_t>(node.inputs.size()))) {
      EXPECT_EQ(buffer(node.inputs[static_cast<std::size_t>(alias.input)]),
                buffer(node.outputs[static_cast<std::size_t>(alias.output)]));
    }
  }
}

// Without accumulators the update would read gradients that each micro-batch makes anew.
TEST(Schedule, RefusesAccumulationWithoutAccumulators) {
  EXPECT_THROW(build_schedule(small_graph(1), {.micro_batches = 2, .workspace = {}}), InternalError);
}

// The planted defects: each breaks a schedule in one way and the verifier must say so.
TEST(ScheduleVerifier, FindsPlantedDefects) {
  const Schedule good = small_schedule();
  const auto rejects = [&](const char* what, const auto& damage) {
    Schedule bad = good;
    damage(bad);
    EXPECT_THROW(verify(bad), InternalError) << what;
  };
  rejects("two step buffers in one place", [](Schedule& bad) {
    for (Buffer& buffer : bad.buffers) {
      if (buffer.region == Region::kStep) buffer.offset = Bytes(0);
    }
  });
  rejects("two tasks swapped", [](Schedule& bad) { std::swap(bad.segments[0].tasks[0], bad.segments[0].tasks[1]); });
  rejects("a task left out", [](Schedule& bad) { bad.segments[1].tasks.pop_back(); });
  rejects("a task twice", [](Schedule& bad) { bad.segments[1].tasks.push_back(bad.segments[1].tasks.back()); });
  rejects("another operand", [](Schedule& bad) { bad.segments[0].tasks[1].inputs[0] = 0; });
  rejects("backward before forward",
          [](Schedule& bad) { std::swap(bad.programs[0].items[0], bad.programs[0].items[1]); });
  rejects("a buffer beyond its region", [](Schedule& bad) { bad.slot_size = bad.slot_size - Bytes(64); });
  rejects("a misaligned buffer", [](Schedule& bad) { bad.buffers[0].offset += Bytes(4); });
  rejects("a slot that is not there", [](Schedule& bad) { bad.programs[0].items[0].slot = 1; });
  rejects("waiting for a later task", [](Schedule& bad) { bad.segments[0].tasks[0].after = {1}; });
}

}  // namespace
}  // namespace headway::schedule
