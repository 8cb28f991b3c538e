#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "schedule/memory_plan.h"
#include "schedule/schedule.h"

namespace headway::schedule {
namespace {

// The verifier runs the program symbolically. For every (buffer, slot) it knows whether the bytes still hold what was
// last written through that buffer: a write through one buffer spoils every other that shares a byte with it. A read
// of a spoiled or unwritten buffer is an error. This needs no notion of lifetimes, so it checks the planner's.
class Replay {
 public:
  explicit Replay(const Schedule& schedule) : schedule_(schedule) {
    const std::size_t buffers = schedule.buffers.size(), slots = static_cast<std::size_t>(schedule.slots);
    valid_.assign(slots, std::vector<bool>(buffers, false));
    for (std::size_t value = 0; value < schedule.graph.values().size(); ++value) {
      const graph::Value& held = schedule.graph.values()[value];
      const BufferId buffer = schedule.buffer_of_value[value];
      if (buffer == kNoBuffer || held.producer != graph::kNoNode) continue;
      for (auto& slot : valid_)
        slot[static_cast<std::size_t>(buffer)] = true;  // parameters, states and inputs are given
    }
    find_overlaps();
  }

  void run(const Program& program) {
    for (const Item& item : program.items) {
      const Segment& segment = schedule_.segments.at(static_cast<std::size_t>(item.segment));
      HEADWAY_CHECK(item.slot >= 0 && item.slot < schedule_.slots,
                    fmt::format("slot {} of {}", item.slot, schedule_.slots));
      if (segment.phase == graph::Phase::kForward) forget_step(item.slot);
      for (const Task& task : segment.tasks) run(task, segment, item.slot);
    }
    for (const auto& [name, value] : schedule_.graph.outputs()) {
      const BufferId buffer = schedule_.buffer_of_value[static_cast<std::size_t>(value)];
      HEADWAY_CHECK(valid_[0][static_cast<std::size_t>(buffer)],
                    fmt::format("output {} does not survive the step", name));
    }
  }

 private:
  void find_overlaps() {
    // Sorted by offset, a buffer overlaps those that start before its end: near-linear for sane plans.
    overlaps_.resize(schedule_.buffers.size());
    for (const Region region : {Region::kPersistent, Region::kStep}) {
      std::vector<std::size_t> order;
      for (std::size_t index = 0; index < schedule_.buffers.size(); ++index) {
        if (schedule_.buffers[index].region == region && schedule_.buffers[index].size.value > 0)
          order.push_back(index);
      }
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return schedule_.buffers[a].offset < schedule_.buffers[b].offset;
      });
      for (std::size_t at = 0; at < order.size(); ++at) {
        const Buffer& buffer = schedule_.buffers[order[at]];
        for (std::size_t next = at + 1; next < order.size(); ++next) {
          if (schedule_.buffers[order[next]].offset >= buffer.offset + buffer.size) break;
          overlaps_[order[at]].push_back(order[next]);
          overlaps_[order[next]].push_back(order[at]);
        }
      }
    }
  }

  // A new micro-batch in a slot: nothing of the old one may be read.
  void forget_step(std::int64_t slot) {
    for (std::size_t index = 0; index < schedule_.buffers.size(); ++index) {
      if (schedule_.buffers[index].region == Region::kStep) valid_[static_cast<std::size_t>(slot)][index] = false;
    }
  }

  void read(BufferId buffer, const Task& task, const Segment& segment, std::int64_t slot) {
    HEADWAY_CHECK(valid_[static_cast<std::size_t>(slot)].at(static_cast<std::size_t>(buffer)),
                  fmt::format("{}: {} reads b{} ({}), which does not hold its bytes", segment.name,
                              schedule_.graph.node(task.node).name, buffer,
                              schedule_.buffers[static_cast<std::size_t>(buffer)].name));
  }

  void write(BufferId buffer, std::int64_t slot) {
    const auto at = static_cast<std::size_t>(buffer);
    const bool everywhere = schedule_.buffers.at(at).region == Region::kPersistent;
    for (std::size_t other = 0; other < valid_.size(); ++other) {
      if (!everywhere && other != static_cast<std::size_t>(slot)) continue;
      for (const std::size_t overlap : overlaps_[at]) valid_[other][overlap] = false;
      valid_[other][at] = true;
    }
  }

  void run(const Task& task, const Segment& segment, std::int64_t slot) {
    for (const BufferId input : task.inputs) read(input, task, segment, slot);
    if (task.workspace != kNoBuffer) write(task.workspace, slot);
    for (const BufferId output : task.outputs) write(output, slot);
    // While the task runs, operands and workspace are all in use: none may have spoiled another.
    for (const BufferId input : task.inputs) read(input, task, segment, slot);
    for (const BufferId output : task.outputs) read(output, task, segment, slot);
  }

  const Schedule& schedule_;
  std::vector<std::vector<std::size_t>> overlaps_;
  std::vector<std::vector<bool>> valid_;  // by slot and buffer
};

void check_regions(const Schedule& schedule) {
  for (std::size_t index = 0; index < schedule.buffers.size(); ++index) {
    const Buffer& buffer = schedule.buffers[index];
    const Bytes limit = buffer.region == Region::kPersistent ? schedule.persistent : schedule.slot_size;
    HEADWAY_CHECK(buffer.offset.value >= 0 && buffer.offset + buffer.size <= limit,
                  fmt::format("b{} ({}) leaves its region of {} bytes", index, buffer.name, limit.value));
    HEADWAY_CHECK(buffer.offset.value % kAlignment == 0, fmt::format("b{} ({}) is misaligned", index, buffer.name));
  }
}

// Tasks carry the operands of their nodes, and together the segments run every node once.
void check_tasks(const Schedule& schedule) {
  std::set<graph::NodeId> seen;
  std::size_t wanted = 0;
  for (const graph::Node& node : schedule.graph.nodes()) wanted += node.op->is_view() ? 0 : 1;
  for (const Segment& segment : schedule.segments) {
    for (std::size_t index = 0; index < segment.tasks.size(); ++index) {
      const Task& task = segment.tasks[index];
      const graph::Node& node = schedule.graph.node(task.node);
      HEADWAY_CHECK(seen.insert(task.node).second, fmt::format("{} runs twice", node.name));
      const auto same = [&](const std::vector<BufferId>& buffers, const std::vector<graph::ValueId>& values) {
        return std::equal(buffers.begin(), buffers.end(), values.begin(), values.end(),
                          [&](BufferId buffer, graph::ValueId value) {
                            return buffer == schedule.buffer_of_value[static_cast<std::size_t>(value)];
                          });
      };
      HEADWAY_CHECK(same(task.inputs, node.inputs) && same(task.outputs, node.outputs),
                    fmt::format("{} does not have the operands of its node", node.name));
      for (const std::int32_t before : task.after) {
        HEADWAY_CHECK(before >= 0 && before < static_cast<std::int32_t>(index),
                      fmt::format("{} waits for task {}, which is not before it", node.name, before));
      }
    }
  }
  HEADWAY_CHECK(seen.size() == wanted, fmt::format("{} of {} nodes are scheduled", seen.size(), wanted));
}

// Two tasks of a segment that touch one buffer, or overlapping ones, and of which one writes must be ordered: same
// stream, or a chain of `after`.
void check_streams(const Schedule& schedule) {
  for (const Segment& segment : schedule.segments) {
    const bool one_stream = std::all_of(segment.tasks.begin(), segment.tasks.end(),
                                        [&](const Task& task) { return task.stream == segment.tasks.front().stream; });
    HEADWAY_CHECK(one_stream, segment.name + ": tasks on several streams are not verified by this version");
  }
}

}  // namespace

void verify(const Schedule& schedule) {
  graph::verify(schedule.graph);
  check_regions(schedule);
  check_tasks(schedule);
  check_streams(schedule);
  HEADWAY_CHECK(schedule.live_peak <= schedule.arena(), "the live peak is larger than the arena");
  for (const Program& program : schedule.programs) {
    Replay replay(schedule);
    replay.run(program);
    replay.run(program);  // a second step starts from what the first left
  }
}

}  // namespace headway::schedule
