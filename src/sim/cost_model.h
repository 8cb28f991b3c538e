// Prices tasks with the curves of a cluster file.
#pragma once

#include <string>

#include "base/units.h"
#include "cluster/cluster.h"
#include "graph/graph.h"

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
  // The cluster must outlive the model. UserError when it has no device of that kind.
  CostModel(const cluster::Cluster& cluster, const std::string& device_kind);

  // Predicted time of one launch of a node.
  Price price(const graph::Graph& graph, const graph::Node& node) const;

 private:
  const cluster::DeviceKind& device_;
};

}  // namespace headway::sim
