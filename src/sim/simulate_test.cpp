#include "sim/simulate.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/ops/arithmetic.h"
#include "schedule/build.h"
#include "sim/test_cluster.h"

namespace headway::sim {
namespace {

using schedule::Schedule;

std::string to_text(const trace::Timeline& timeline) {
  std::string text;
  for (const trace::Span& span : timeline.spans) {
    text += fmt::format("rank {} stream {} micro-batch {} task {} [{:g}, {:g}) {} {}\n", span.rank, span.stream,
                        span.micro_batch, span.task, span.start.value, (span.start + span.duration).value,
                        span.category, span.name);
  }
  return text;
}

// A schedule over `nodes` nodes, one segment "forward" of one task each, all on stream 0.
Schedule chain(int nodes) {
  Schedule schedule;
  graph::ValueId x = schedule.graph.add_input("x", {DType::kF32, {4}});
  schedule.segments.push_back({"forward", graph::Phase::kForward, {}});
  for (int node = 0; node < nodes; ++node) {
    schedule.graph.set_scope(fmt::format("n{}", node));
    x = graph::scale(schedule.graph, x, 2);
    schedule::Task task;
    task.node = node;
    schedule.segments[0].tasks.push_back(task);
  }
  schedule.programs = {{"all", 1, {{0, 0, 0}}}};
  return schedule;
}

std::vector<Seconds> times(std::initializer_list<double> values) {
  std::vector<Seconds> result;
  for (const double value : values) result.emplace_back(value);
  return result;
}

// Golden: two micro-batches of forward and backward, one update; times 1, 2, 4, 8, 16.
TEST(Simulate, GoldenTimeline) {
  graph::Graph graph;
  graph::ValueId x = graph.add_input("x", {DType::kF32, {4}});
  const auto node = [&](const char* name, graph::Phase phase) {
    graph.set_phase(phase);
    graph.set_scope(name);
    x = graph::scale(graph, x, 2);
  };
  node("a", graph::Phase::kForward);
  node("b", graph::Phase::kForward);
  node("c", graph::Phase::kBackward);
  node("d", graph::Phase::kBackward);
  graph.set_phase(graph::Phase::kUpdate);
  graph.set_scope("e");
  const graph::ValueId state = graph.add_state("s", {DType::kF32, {4}});
  graph::scale(graph, state, 2);
  const Schedule schedule = schedule::build_schedule(graph, {2, {}});
  EXPECT_EQ(to_text(simulate(schedule, times({1, 2, 4, 8, 16}))),
            "rank 0 stream 0 micro-batch 0 task 0 [0, 1) scale a\n"
            "rank 0 stream 0 micro-batch 0 task 1 [1, 3) scale b\n"
            "rank 0 stream 0 micro-batch 0 task 2 [3, 7) scale c\n"
            "rank 0 stream 0 micro-batch 0 task 3 [7, 15) scale d\n"
            "rank 0 stream 0 micro-batch 1 task 0 [15, 16) scale a\n"
            "rank 0 stream 0 micro-batch 1 task 1 [16, 18) scale b\n"
            "rank 0 stream 0 micro-batch 1 task 2 [18, 22) scale c\n"
            "rank 0 stream 0 micro-batch 1 task 3 [22, 30) scale d\n"
            "rank 0 stream 0 micro-batch 1 task 4 [30, 46) scale e\n");
}

// One stream: the length is the sum, micro_batches * (1 + 2 + 3) = 18.
TEST(Simulate, OneStreamIsTheSum) {
  Schedule schedule = chain(3);
  schedule.programs[0].items = {{0, 0, 0}, {0, 1, 1}, {0, 2, 0}};
  const trace::Timeline timeline = simulate(schedule, times({1, 2, 3}));
  EXPECT_DOUBLE_EQ(timeline.length().value, 18);
  EXPECT_EQ(timeline.source, "predicted");
}

// Two streams. Stream 0: t0 (3), t2 (4), t4 (1); stream 1: t1 (5), t3 (2). t3 waits for t0, t4 for t3.
//   t0 = [0, 3), t1 = [0, 5), t2 = [3, 7), t3 starts at max(5 its stream, 3 t0) = 5 and ends at 7,
//   t4 starts at max(7 its stream, 7 t3) = 7: length 8. Without the second stream it would be 15.
TEST(Simulate, TwoStreamsOverlap) {
  Schedule schedule = chain(5);
  std::vector<schedule::Task>& tasks = schedule.segments[0].tasks;
  tasks[1].stream = tasks[3].stream = 1;
  tasks[3].after = {0};
  tasks[4].after = {3};
  EXPECT_EQ(to_text(simulate(schedule, times({3, 5, 4, 2, 1}))),
            "rank 0 stream 0 micro-batch 0 task 0 [0, 3) scale n0\n"
            "rank 0 stream 1 micro-batch 0 task 1 [0, 5) scale n1\n"
            "rank 0 stream 0 micro-batch 0 task 2 [3, 7) scale n2\n"
            "rank 0 stream 1 micro-batch 0 task 3 [5, 7) scale n3\n"
            "rank 0 stream 0 micro-batch 0 task 4 [7, 8) scale n4\n");
}

// A dependency that binds: t1 waits for t0 on the other stream; nothing overlaps: 3 + 5 = 8, not max(3, 5).
// The defect of a lost edge would give 5.
TEST(Simulate, AfterDelays) {
  Schedule schedule = chain(2);
  schedule.segments[0].tasks[1].stream = 1;
  EXPECT_DOUBLE_EQ(simulate(schedule, times({3, 5})).length().value, 5);
  schedule.segments[0].tasks[1].after = {0};
  EXPECT_DOUBLE_EQ(simulate(schedule, times({3, 5})).length().value, 8);
}

// An item begins when the one before is complete on all streams: 2 * max(3, 5).
TEST(Simulate, ItemsFollowEachOther) {
  Schedule schedule = chain(2);
  schedule.segments[0].tasks[1].stream = 1;
  schedule.programs[0].items = {{0, 0, 0}, {0, 1, 0}};
  EXPECT_DOUBLE_EQ(simulate(schedule, times({3, 5})).length().value, 10);
}

// Roles stand at the number of their first rank and do not wait for each other.
TEST(Simulate, RolesAreSimulatedOnce) {
  Schedule schedule = chain(1);
  schedule.programs = {{"many", 1000, {{0, 0, 0}}}, {"straggler", 1, {{0, 0, 0}, {0, 1, 0}}}};
  const trace::Timeline timeline = simulate(schedule, times({2}));
  ASSERT_EQ(timeline.spans.size(), 3U);
  EXPECT_EQ(timeline.spans[0].rank, 0);
  EXPECT_EQ(timeline.spans[2].rank, 1000);
  EXPECT_DOUBLE_EQ(timeline.length().value, 4);
}

TEST(Simulate, TasksThatWaitForEachOtherAreADefect) {
  Schedule schedule = chain(2);
  schedule.segments[0].tasks[0].after = {1};
  schedule.segments[0].tasks[1].stream = 1;
  schedule.segments[0].tasks[1].after = {0};
  EXPECT_THROW(simulate(schedule, times({1, 1})), InternalError);
}

// Prices come from the model: scale of 4 floats moves 32 bytes at 1e10, after a launch of 1 us.
TEST(Simulate, PricesComeFromTheModel) {
  const cluster::Cluster cluster = testing::plain_cluster();
  const trace::Timeline timeline = simulate(chain(3), CostModel(cluster, "cpu"));
  EXPECT_NEAR(timeline.length().value, 3 * (1e-6 + 32 / 1e10), 1e-15);
}

}  // namespace
}  // namespace headway::sim
