// Cluster: what a prediction needs to know of machines: devices, links, measured curves. A YAML file, written by
// `headway probe` or taken from a catalogue. Rates only; what a training framework does is not here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/units.h"

namespace headway::cluster {

// Measured time of an op against the bytes it moves; interpolated on logarithms.
struct OpPoint {
  Bytes bytes;
  Seconds time;
};

// Measured rate of m x n x k products in one operand layout: "nt" (linear forward), "nn" (gradient of the input),
// "tn" (gradient of the weight).
struct GemmPoint {
  std::int64_t m = 0, n = 0, k = 0;
  FlopsPerSecond rate;
};

// Measured rate of a convolution kind ("conv2d", "conv2d_grad_input", "conv2d_grad_weight").
struct ConvPoint {
  std::int64_t batch = 0, height = 0, width = 0, in = 0, out = 0, kernel = 0;
  FlopsPerSecond rate;
};

struct BandwidthPoint {
  Bytes working_set;
  BytesPerSecond rate;
};

struct DeviceKind {
  std::string name;   // "cpu"
  std::string model;  // "Intel Xeon ..."
  int threads = 1;    // what the curves were measured with
  Bytes memory;
  Seconds launch_overhead;
  std::map<DType, FlopsPerSecond> peak;                // dense, measured on these threads
  std::vector<BandwidthPoint> bandwidth;               // copy: read + write bytes per second, by working set
  std::map<std::string, std::vector<GemmPoint>> gemm;  // key "f32.nt"
  std::map<std::string, std::vector<ConvPoint>> conv;  // key "f32.conv2d"
  std::map<std::string, std::vector<OpPoint>> ops;     // key graph::cost_key(node), "f32." in front
};

struct Cluster {
  std::string name;
  std::string measured;  // when and how: "2026-01-02T03:04:05Z headway probe", or the source of a catalogue entry
  std::vector<DeviceKind> devices;
};

// UserError naming file, line and key on anything malformed, of another schema version, not positive or not finite.
Cluster parse_cluster(const std::string& text, const std::string& file);
Cluster load_cluster(const std::string& path);
std::string to_yaml(const Cluster& cluster);

}  // namespace headway::cluster
