// Ops that only move or rename axes.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// reshape. The same bytes under the attribute `shape`: a view, no task.
const Op& reshape_op();
ValueId reshape(Graph& graph, ValueId x, const Shape& shape);

// transpose. Output axis i is input axis permutation[i].
struct TransposeAttributes {
  std::vector<std::int64_t> permutation;
  static TransposeAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& transpose_op();
ValueId transpose(Graph& graph, ValueId x, std::vector<std::int64_t> permutation);

}  // namespace headway::graph
