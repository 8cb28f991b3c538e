// One thing that the probe measures: a kernel with operands, and where its time goes in the cluster file.
//
// In a training step the operands of a kernel were touched megabytes ago, not just now. So operands are not the same
// bytes in each launch: they rotate through a window of memory, inputs through one, outputs through another, and what
// is updated in place through a third.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "cluster/cluster.h"

namespace headway::bench {

struct ProbePoint {
  std::string name;  // for progress: "matmul 4096 x 512 x 512"
  std::unique_ptr<backend::Kernel> kernel;
  std::vector<graph::TensorType> inputs, outputs;
  std::vector<graph::Alias> aliases;
  bool hot = false;         // always the same operands
  std::ptrdiff_t less = 0;  // the point so many places before has its time subtracted; 0: none
  std::function<void(cluster::DeviceKind& device, Seconds time)> store;
  std::vector<double> samples;  // seconds a launch
};

// The memory of all points.
class ProbeMemory {
 public:
  ProbeMemory(backend::Device& device, Bytes window, const std::vector<ProbePoint>& points);

  // Addresses for the next launch of a point.
  struct Binding {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::byte* workspace = nullptr;
    backend::KernelArgs args() const { return {inputs, outputs, workspace}; }
  };
  Binding bind(const ProbePoint& point);

 private:
  // Hands out pieces one after another and starts again at the end.
  struct Ring {
    std::unique_ptr<backend::Buffer> buffer;
    std::int64_t next = 0;
    std::int64_t reach = 0;  // starts again here
    std::byte* take(Bytes size);
  };
  std::byte* constant(const graph::TensorType& type);

  Ring inputs_, outputs_, states_;
  std::unique_ptr<backend::Buffer> indices_, bytes_, positions_, hyper_;
};

// Launches a point for about `least` seconds and at least once; adds one sample, a median. `between` is launched before
// each: in a training step a kernel never follows itself, and finds its code and the branch predictors as others left
// them. A hot point follows itself.
void measure(ProbePoint& point, const ProbePoint& between, ProbeMemory& memory, backend::Stream& stream, Seconds least);

}  // namespace headway::bench
