// From a graph of one micro-batch to the schedule of one role on one stage.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace headway::schedule {

struct BuildOptions {
  std::int64_t micro_batches = 1;  // accumulation: forward and backward are repeated, then one update
  // Workspace of each node in bytes, from the backend's prepared kernels; empty means none.
  std::vector<Bytes> workspace;
};

// Cuts the graph into segments by phase, assigns buffers (views and in-place updates share), plans the arena and
// orders the program. With several micro-batches no update may read a value that is made anew in every micro-batch
// (InternalError): gradients have accumulators then.
Schedule build_schedule(graph::Graph graph, const BuildOptions& options);

}  // namespace headway::schedule
