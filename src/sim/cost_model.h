// Prices tasks with the curves of a cluster file.
//
// A node is priced by the first of these that the file knows:
// 1. matrix products, convolutions, fused attention and recurrent layers: flops over the measured rate at their sizes,
// never above the
//    peak, never under what their bytes take; and what an epilogue (activation, second output) adds;
// 2. other ops: the measured time at their bytes, under graph::cost_key(node) or a shorter form of it;
// 3. everything else: the larger of flops over peak and bytes over bandwidth, after one launch overhead.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "sim/curve.h"

namespace headway::sim {

// What bounds a task, said in words in breakdowns.
enum class Bound { kCompute, kMemory, kLatency };
std::string_view name_of(Bound bound);

struct Price {
  Seconds time;
  Bound bound = Bound::kMemory;
};

class CostModel {
 public:
  // UserError when the cluster has no device of that kind. Keeps a copy of what it needs.
  CostModel(const cluster::Cluster& cluster, const std::string& device_kind);

  // Predicted time of one launch of a node.
  Price price(const graph::Graph& graph, const graph::Node& node) const;

  // The dense peak of an element type; f32's where the file has none.
  FlopsPerSecond peak(DType dtype) const;
  // Copy bandwidth at a working set.
  BytesPerSecond bandwidth(Bytes working_set) const;

 private:
  struct Work;

  std::optional<Seconds> product_time(const graph::Graph& graph, const graph::Node& node, const Work& work) const;
  std::optional<Seconds> conv_time(const graph::Graph& graph, const graph::Node& node, const Work& work) const;
  std::optional<Seconds> attention_time(const graph::Graph& graph, const graph::Node& node, const Work& work) const;
  std::optional<Seconds> recurrent_time(const graph::Graph& graph, const graph::Node& node, const Work& work) const;
  std::optional<Seconds> op_time(const std::string& key, Bytes bytes) const;
  Seconds epilogue_time(const graph::Graph& graph, const graph::Node& node) const;
  Seconds roofline(const Work& work) const;

  cluster::DeviceKind device_;
  std::map<std::string, Curve> gemm_;       // rate by m, n, k
  std::map<std::string, Curve> conv_;       // rate by kernel area, in, out, output positions
  std::map<std::string, Curve> attention_;  // rate by head size, sequence, groups
  std::map<std::string, Curve> recurrent_;  // rate by features, hidden, batch
  std::map<std::string, Curve> ops_;        // seconds by bytes
  Curve bandwidth_;                         // bytes per second by working set
};

}  // namespace headway::sim
