#include "schedule/build.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "schedule/memory_plan.h"

namespace headway::schedule {
namespace {

using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::Role;
using graph::ValueId;

constexpr std::array kPhases = {Phase::kForward, Phase::kBackward, Phase::kUpdate};

// One buffer per group of values that share bytes: a view with what it views, an in-place update with what it updates.
class BufferAssignment {
 public:
  explicit BufferAssignment(Schedule& schedule) : schedule_(schedule), graph_(schedule.graph) {
    schedule_.buffer_of_value.assign(graph_.values().size(), kNoBuffer);
  }

  void run() {
    // Parameters come first, in order, so that a second program over the same model finds them at equal offsets.
    for (const graph::Parameter& parameter : graph_.parameters()) make(parameter.value, Region::kPersistent);
    for (std::size_t index = 0; index < graph_.values().size(); ++index) {
      const graph::Value& value = graph_.values()[index];
      const bool given = value.producer == graph::kNoNode;
      if (given && (value.role == Role::kState || value.role == Role::kInput)) {
        make(static_cast<ValueId>(index), Region::kPersistent);
      }
    }
    for (const Node& node : graph_.nodes()) assign_outputs(node);
    for (const auto& [name, value] : graph_.outputs()) {
      schedule_.buffers[static_cast<std::size_t>(of(value))].region = Region::kPersistent;
    }
  }

 private:
  BufferId& of(ValueId value) { return schedule_.buffer_of_value[static_cast<std::size_t>(value)]; }

  void make(ValueId value, Region region) {
    if (of(value) != kNoBuffer) return;
    of(value) = static_cast<BufferId>(schedule_.buffers.size());
    schedule_.buffers.push_back({graph_.value(value).name, graph_.value(value).type.bytes(), Bytes(0), region});
  }

  void assign_outputs(const Node& node) {
    if (node.op->is_view()) {
      of(node.outputs[0]) = of(node.inputs[0]);
      return;
    }
    for (const graph::Alias& alias : node.op->aliases(node.attributes, static_cast<std::int64_t>(node.inputs.size()))) {
      of(node.outputs[static_cast<std::size_t>(alias.output)]) = of(node.inputs[static_cast<std::size_t>(alias.input)]);
    }
    for (const ValueId output : node.outputs) make(output, Region::kStep);
  }

  Schedule& schedule_;
  const graph::Graph& graph_;
};

Task make_task(Schedule& schedule, NodeId id, Bytes workspace) {
  const Node& node = schedule.graph.node(id);
  Task task;
  task.node = id;
  for (const ValueId input : node.inputs) {
    task.inputs.push_back(schedule.buffer_of_value[static_cast<std::size_t>(input)]);
  }
  for (const ValueId output : node.outputs) {
    task.outputs.push_back(schedule.buffer_of_value[static_cast<std::size_t>(output)]);
  }
  if (workspace.value > 0) {
    task.workspace = static_cast<BufferId>(schedule.buffers.size());
    schedule.buffers.push_back({node.name + ".workspace", workspace, Bytes(0), Region::kStep});
  }
  return task;
}

void make_segments(Schedule& schedule, const std::vector<Bytes>& workspace) {
  for (const Phase phase : kPhases) {
    Segment segment{std::string(name_of(phase)), phase, {}};
    for (std::size_t index = 0; index < schedule.graph.nodes().size(); ++index) {
      const Node& node = schedule.graph.nodes()[index];
      if (node.phase != phase || node.op->is_view()) continue;
      segment.tasks.push_back(
          make_task(schedule, static_cast<NodeId>(index), workspace.empty() ? Bytes(0) : workspace.at(index)));
    }
    if (!segment.tasks.empty()) schedule.segments.push_back(std::move(segment));
  }
}

void make_program(Schedule& schedule) {
  Program program{"all", 1, {}};
  for (std::int64_t micro_batch = 0; micro_batch < schedule.micro_batches; ++micro_batch) {
    for (std::size_t segment = 0; segment < schedule.segments.size(); ++segment) {
      const bool update = schedule.segments[segment].phase == Phase::kUpdate;
      if (update && micro_batch + 1 < schedule.micro_batches) continue;
      program.items.push_back({static_cast<std::int32_t>(segment), static_cast<std::int32_t>(micro_batch), 0});
    }
  }
  schedule.programs.push_back(std::move(program));
}

// Lifetimes of the step buffers, counted in tasks over forward, backward and update.
std::vector<Lifetime> lifetimes_of(const Schedule& schedule) {
  std::vector<Lifetime> lifetimes(schedule.buffers.size(), Lifetime{Bytes(0), -1, -1});
  std::vector<bool> in_update(schedule.buffers.size(), false), before_update(schedule.buffers.size(), false);
  std::int64_t position = 0;
  for (const Segment& segment : schedule.segments) {
    for (const Task& task : segment.tasks) {
      const auto touch = [&](BufferId buffer) {
        if (buffer == kNoBuffer) return;
        const auto at = static_cast<std::size_t>(buffer);
        Lifetime& lifetime = lifetimes[at];
        if (lifetime.first < 0) lifetime.first = position;
        lifetime.last = position;
        (segment.phase == Phase::kUpdate ? in_update : before_update)[at] = true;
      };
      for (const BufferId buffer : task.inputs) touch(buffer);
      for (const BufferId buffer : task.outputs) touch(buffer);
      touch(task.workspace);
      ++position;
    }
  }
  for (std::size_t index = 0; index < lifetimes.size(); ++index) {
    const Buffer& buffer = schedule.buffers[index];
    if (buffer.region != Region::kStep || lifetimes[index].first < 0) continue;
    lifetimes[index].size = buffer.size;
    HEADWAY_CHECK(schedule.micro_batches == 1 || !(in_update[index] && before_update[index]),
                  fmt::format("the update reads {}, which every micro-batch makes anew", buffer.name));
  }
  // Persistent buffers have no lifetime here; zero bytes from 0 to 0 cost nothing.
  for (Lifetime& lifetime : lifetimes) {
    if (lifetime.size.value == 0) lifetime = {Bytes(0), 0, 0};
  }
  return lifetimes;
}

void place_buffers(Schedule& schedule) {
  std::int64_t end = 0;
  for (Buffer& buffer : schedule.buffers) {
    if (buffer.region != Region::kPersistent) continue;
    buffer.offset = Bytes(end);
    end += aligned(buffer.size).value;
  }
  schedule.persistent = Bytes(end);
  const MemoryPlan plan = plan_memory(lifetimes_of(schedule));
  for (std::size_t index = 0; index < schedule.buffers.size(); ++index) {
    if (schedule.buffers[index].region == Region::kStep) schedule.buffers[index].offset = plan.offsets[index];
  }
  schedule.slot_size = plan.size;
  schedule.live_peak = Bytes(end + plan.live_peak.value);
}

}  // namespace

Schedule build_schedule(graph::Graph graph, const BuildOptions& options) {
  HEADWAY_CHECK(options.micro_batches >= 1, "a step has at least one micro-batch");
  Schedule schedule;
  schedule.graph = std::move(graph);
  schedule.micro_batches = options.micro_batches;
  BufferAssignment(schedule).run();
  make_segments(schedule, options.workspace);
  make_program(schedule);
  place_buffers(schedule);
  return schedule;
}

}  // namespace headway::schedule
