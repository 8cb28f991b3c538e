#include "schedule/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headway::schedule {

std::int32_t Schedule::first_task(std::int32_t segment) const {
  std::int32_t count = 0;
  for (std::int32_t index = 0; index < segment; ++index) {
    count += static_cast<std::int32_t>(segments.at(static_cast<std::size_t>(index)).tasks.size());
  }
  return count;
}

std::int32_t Schedule::task_count() const {
  return first_task(static_cast<std::int32_t>(segments.size()));
}

namespace {

std::string buffer_list(const std::vector<BufferId>& buffers) {
  std::vector<std::string> names;
  for (const BufferId buffer : buffers) names.push_back(fmt::format("b{}", buffer));
  return fmt::format("{}", fmt::join(names, " "));
}

std::string task_text(const Schedule& schedule, const Task& task) {
  const graph::Node& node = schedule.graph.node(task.node);
  std::string text =
      fmt::format("{} ({}) -> ({})", node.op->name(), buffer_list(task.inputs), buffer_list(task.outputs));
  if (task.workspace != kNoBuffer) text += fmt::format(" workspace b{}", task.workspace);
  if (task.stream != 0) text += fmt::format(" stream {}", task.stream);
  if (!task.after.empty()) text += fmt::format(" after {}", fmt::join(task.after, " "));
  return text + "  # " + node.name;
}

}  // namespace

std::string to_string(const Schedule& schedule) {
  std::string text =
      fmt::format("schedule: {} micro-batches, {} slots, arena {} = persistent {} + slots x {}, live peak {}\n",
                  schedule.micro_batches, schedule.slots, schedule.arena().value, schedule.persistent.value,
                  schedule.slot_size.value, schedule.live_peak.value);
  for (std::size_t index = 0; index < schedule.buffers.size(); ++index) {
    const Buffer& buffer = schedule.buffers[index];
    text +=
        fmt::format("buffer b{} {} {}+{}  # {}\n", index, buffer.region == Region::kPersistent ? "persistent" : "step",
                    buffer.offset.value, buffer.size.value, buffer.name);
  }
  for (std::size_t index = 0; index < schedule.segments.size(); ++index) {
    text += fmt::format("segment {} {}\n", index, schedule.segments[index].name);
    for (std::size_t task = 0; task < schedule.segments[index].tasks.size(); ++task) {
      text += fmt::format("  {}: {}\n", task, task_text(schedule, schedule.segments[index].tasks[task]));
    }
  }
  for (const Program& program : schedule.programs) {
    text += fmt::format("program {} x {}:", program.role, program.ranks);
    for (const Item& item : program.items) {
      text += fmt::format(" {}.{}@{}", schedule.segments[static_cast<std::size_t>(item.segment)].name, item.micro_batch,
                          item.slot);
    }
    text += "\n";
  }
  return text;
}

}  // namespace headway::schedule
