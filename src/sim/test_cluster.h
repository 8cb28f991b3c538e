// For tests: a machine whose times are closed forms.
#pragma once

#include "cluster/cluster.h"

namespace headway::sim::testing {

// Peak 1e12 flop/s, 1e10 bytes/s at any working set, 1 us a launch, no curves.
inline cluster::Cluster plain_cluster() {
  cluster::DeviceKind device;
  device.name = "cpu";
  device.model = "synthetic";
  device.memory = Bytes(std::int64_t{1} << 40);
  device.launch_overhead = Seconds(1e-6);
  device.peak[DType::kF32] = FlopsPerSecond(1e12);
  device.bandwidth = {{Bytes(1), BytesPerSecond(1e10)}};
  return {"synthetic", "closed forms", {device}};
}

}  // namespace headway::sim::testing
