// Cluster: what a prediction needs to know of machines: devices, links, measured curves. A YAML file, written by
// `headway probe` or taken from a catalogue. Rates only; what a training framework does is not here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/units.h"

namespace headway::cluster {

// Measured time of an op against the bytes it moves (every operand once); interpolated on logarithms.
struct OpPoint {
  Bytes bytes;
  Seconds time;
  bool operator==(const OpPoint&) const = default;
};

// Measured rate of m x n x k products in one operand layout: "nt" (linear forward), "nn" (gradient of the input),
// "tn" (gradient of the weight).
struct GemmPoint {
  std::int64_t m = 0, n = 0, k = 0;
  FlopsPerSecond rate;
  bool operator==(const GemmPoint&) const = default;
};

// Measured rate of a convolution kind ("conv2d", "conv2d_grad_input", "conv2d_grad_weight").
struct ConvPoint {
  std::int64_t batch = 0, height = 0, width = 0, in = 0, out = 0, kernel = 0;
  FlopsPerSecond rate;
  bool operator==(const ConvPoint&) const = default;
};

// Measured rate of fused attention ("attention", "attention_grad"), flops as graph::OpCost counts them; `groups` is
// batch x heads.
struct AttentionPoint {
  std::int64_t groups = 0, sequence = 0, head_size = 0;
  FlopsPerSecond rate;
  bool operator==(const AttentionPoint&) const = default;
};

// Measured rate of a recurrent layer ("recurrent", "recurrent_grad"), flops as graph::OpCost counts them.
struct RecurrentPoint {
  std::int64_t batch = 0, features = 0, hidden = 0;
  FlopsPerSecond rate;
  bool operator==(const RecurrentPoint&) const = default;
};

struct BandwidthPoint {
  Bytes working_set;
  BytesPerSecond rate;
  bool operator==(const BandwidthPoint&) const = default;
};

struct DeviceKind {
  std::string name;   // "cpu"
  std::string model;  // "Intel Xeon ..."
  int threads = 1;    // what the curves were measured with
  Bytes memory;
  Seconds launch_overhead;
  double relative_error = 0;  // of the measured medians, half of a 95 % interval, the median over all; 0: not known
  std::map<DType, FlopsPerSecond> peak;                          // dense, measured on these threads
  std::vector<BandwidthPoint> bandwidth;                         // copy: read + write bytes per second, by working set
  std::map<std::string, std::vector<GemmPoint>> gemm;            // key "f32.nt"
  std::map<std::string, std::vector<ConvPoint>> conv;            // key "f32.conv2d"
  std::map<std::string, std::vector<AttentionPoint>> attention;  // key "f32.attention.causal"
  std::map<std::string, std::vector<RecurrentPoint>> recurrent;  // key "f32.recurrent.lstm"
  // Key graph::cost_key(node), "f32." in front. "f32.epilogue.x" is the time that a linear.x takes longer than a plain
  // linear, against the bytes of its outputs.
  std::map<std::string, std::vector<OpPoint>> ops;

  bool operator==(const DeviceKind&) const = default;
};

struct Cluster {
  std::string name;
  std::string measured;  // when and how: "2026-01-02T03:04:05Z headway probe", or the source of a catalogue entry
  std::vector<DeviceKind> devices;

  bool operator==(const Cluster&) const = default;
};

// UserError naming file, line and key on anything malformed, of another schema version, not positive or not finite.
Cluster parse_cluster(const std::string& text, const std::string& file);
Cluster load_cluster(const std::string& path);

// The same cluster as text; parse_cluster gives back what was written, bit by bit.
std::string to_yaml(const Cluster& cluster);

}  // namespace headway::cluster
