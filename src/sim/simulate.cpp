#include "sim/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "base/error.h"

namespace headway::sim {
namespace {

using schedule::Item;
using schedule::Schedule;
using schedule::Segment;
using schedule::Task;

// Starts and durations of the tasks of one item, relative to its begin.
struct ItemRun {
  struct Entry {
    std::int32_t task = 0;  // of the segment
    Seconds start, duration;
  };
  std::vector<Entry> entries;  // in order of start, then of task
  Seconds end;
};

// A segment always runs alike, so it is simulated once and repeated by every item.
class SegmentEngine {
 public:
  SegmentEngine(const Segment& segment, const std::vector<Seconds>& node_times)
      : segment_(segment), node_times_(node_times) {
    const std::size_t count = segment.tasks.size();
    waits_.assign(count, 0);
    earliest_.assign(count, Seconds(0));
    readers_.resize(count);
    std::map<std::int32_t, std::int32_t> last_on_stream;
    for (std::size_t index = 0; index < count; ++index) {
      const Task& task = segment.tasks[index];
      for (const std::int32_t before : task.after) depend(static_cast<std::int32_t>(index), before);
      const auto [last, first] = last_on_stream.try_emplace(task.stream, static_cast<std::int32_t>(index));
      if (!first)
        depend(static_cast<std::int32_t>(index), std::exchange(last->second, static_cast<std::int32_t>(index)));
    }
  }

  ItemRun run() {
    // Tasks whose dependencies are complete, the earliest start first.
    using Ready = std::pair<double, std::int32_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (std::size_t index = 0; index < waits_.size(); ++index) {
      if (waits_[index] == 0) ready.emplace(0.0, static_cast<std::int32_t>(index));
    }
    ItemRun result;
    while (!ready.empty()) {
      const auto [start, task] = ready.top();
      ready.pop();
      const Seconds duration =
          node_times_.at(static_cast<std::size_t>(segment_.tasks[static_cast<std::size_t>(task)].node));
      const Seconds end = Seconds(start) + duration;
      result.entries.push_back({task, Seconds(start), duration});
      result.end = std::max(result.end, end);
      for (const std::int32_t reader : readers_[static_cast<std::size_t>(task)]) {
        const auto at = static_cast<std::size_t>(reader);
        earliest_[at] = std::max(earliest_[at], end);
        if (--waits_[at] == 0) ready.emplace(earliest_[at].value, reader);
      }
    }
    HEADWAY_CHECK(result.entries.size() == segment_.tasks.size(),
                  fmt::format("{} of {} tasks of segment {} wait for each other",
                              segment_.tasks.size() - result.entries.size(), segment_.tasks.size(), segment_.name));
    return result;
  }

 private:
  void depend(std::int32_t task, std::int32_t before) {
    ++waits_[static_cast<std::size_t>(task)];
    readers_.at(static_cast<std::size_t>(before)).push_back(task);
  }

  const Segment& segment_;
  const std::vector<Seconds>& node_times_;
  std::vector<std::int32_t> waits_;  // dependencies not complete yet
  std::vector<Seconds> earliest_;    // end of those that are
  std::vector<std::vector<std::int32_t>> readers_;
};

}  // namespace

trace::Timeline simulate(const Schedule& schedule, const std::vector<Seconds>& node_times) {
  HEADWAY_CHECK(node_times.size() == schedule.graph.nodes().size(), "one time a node is needed");
  std::vector<ItemRun> runs;
  for (const Segment& segment : schedule.segments) runs.push_back(SegmentEngine(segment, node_times).run());

  trace::Timeline timeline{"predicted", {}};
  std::int32_t rank = 0;
  for (const schedule::Program& program : schedule.programs) {
    Seconds begin(0);
    for (const Item& item : program.items) {
      const auto index = static_cast<std::size_t>(item.segment);
      const Segment& segment = schedule.segments.at(index);
      const std::int32_t first = schedule.first_task(item.segment);
      for (const ItemRun::Entry& entry : runs[index].entries) {
        const Task& task = segment.tasks[static_cast<std::size_t>(entry.task)];
        const graph::Node& node = schedule.graph.node(task.node);
        timeline.spans.push_back({rank, task.stream, item.micro_batch, first + entry.task, node.name,
                                  std::string(node.op->name()), begin + entry.start, entry.duration});
      }
      begin += runs[index].end;
    }
    rank += static_cast<std::int32_t>(program.ranks);
  }
  return timeline;
}

trace::Timeline simulate(const Schedule& schedule, const CostModel& model) {
  std::vector<Seconds> node_times;
  for (const graph::Node& node : schedule.graph.nodes()) {
    node_times.push_back(model.price(schedule.graph, node).time);
  }
  return simulate(schedule, node_times);
}

}  // namespace headway::sim
