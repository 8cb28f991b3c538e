// Measures a machine through a Device: with the kernels that training launches, so that what is predicted is what runs.
#pragma once

#include <cstdint>

#include "backend/device.h"
#include "base/progress.h"
#include "base/units.h"
#include "cluster/cluster.h"

namespace headway::bench {

struct ProbeOptions {
  Seconds budget = Seconds(15);    // for measuring; making the kernels ready takes a few seconds more
  double relative_error = 0.02;    // a point is done when its median is known this well
  Bytes window = Bytes(32 << 20);  // operands rotate through this much memory, for inputs and for outputs each
  double scale = 1;                // sizes of all points are multiplied by this (tests: tiny)
};

// One device of kind device.kind(). Every point is measured in every sweep, in random order, until each median is known
// well enough or the budget is spent (but three sweeps at least), so that a slow phase of the machine touches all
// points alike. `progress` may be null. UserError for a device kind that cannot be measured yet.
cluster::Cluster probe_machine(backend::Device& device, Progress* progress, const ProbeOptions& options);

}  // namespace headway::bench
