// Schedule: for each role the order of (segment, micro-batch, slot) on its streams, and where every buffer lies in the
// arena. Plain data, computed and verified before anything runs; the executor follows it and the simulator times it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "graph/graph.h"

namespace headway::schedule {

using BufferId = std::int32_t;
inline constexpr BufferId kNoBuffer = -1;

// Where a buffer lives. The arena is [persistent | slot 0 | slot 1 | ...]; persistent buffers have arena offsets, step
// buffers have offsets relative to their micro-batch's slot.
enum class Region : std::uint8_t { kPersistent, kStep };

struct Buffer {
  std::string name;
  Bytes size;
  Bytes offset;
  Region region = Region::kStep;
};

// One launch of a node's kernel. Its peers, when it will be a collective, are mesh coordinates, not rank numbers.
struct Task {
  graph::NodeId node = graph::kNoNode;
  std::vector<BufferId> inputs;
  std::vector<BufferId> outputs;
  BufferId workspace = kNoBuffer;
  std::int32_t stream = 0;
  // Tasks of this segment on other streams that must be complete; order on one stream needs no entry.
  std::vector<std::int32_t> after;
};

// A stage's forward, backward or update: tasks in order. Micro-batches repeat it; it is never unrolled.
struct Segment {
  std::string name;
  graph::Phase phase = graph::Phase::kForward;
  std::vector<Task> tasks;
};

// One entry of a program: run `segment` for `micro_batch` in `slot`.
struct Item {
  std::int32_t segment = 0;
  std::int32_t micro_batch = 0;
  std::int32_t slot = 0;
};

// A role: ranks that do the same.
struct Program {
  std::string role;
  std::int64_t ranks = 1;
  std::vector<Item> items;  // one training step
};

struct Schedule {
  graph::Graph graph;
  std::vector<Buffer> buffers;
  std::vector<BufferId> buffer_of_value;  // kNoBuffer for values that no task touches
  std::vector<Segment> segments;
  std::vector<Program> programs;
  std::int64_t micro_batches = 1;
  std::int64_t slots = 1;
  Bytes persistent;  // size of the persistent region
  Bytes slot_size;   // size of one slot
  Bytes live_peak;   // largest sum of live bytes at any task: the lower bound of persistent + slots * slot_size

  // Size of the arena that the executor allocates.
  Bytes arena() const { return persistent + slot_size * slots; }
  // Number of the first task of a segment when tasks are counted over all segments.
  std::int32_t first_task(std::int32_t segment) const;
  std::int32_t task_count() const;
};

// The whole schedule as text: buffers with offsets, segments with tasks, programs. Equal text = equal schedule.
std::string to_string(const Schedule& schedule);

// Throws InternalError naming task and buffer when: a task reads bytes that were not written, or were overwritten
// through another buffer since; two streams race; a segment runs in a wrong order; a buffer leaves its region or is
// misaligned; the arena is larger than its parts. Independent of how the plan was made.
void verify(const Schedule& schedule);

}  // namespace headway::schedule
