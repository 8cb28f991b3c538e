// Sums and means over axes, and their reverse: repeating along axes, as NumPy's broadcasting does.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace headway::graph {

// reduce. Input x; output x summed over the axes first, first + 1, ..., `count` of them, which it no longer has.
struct ReduceAttributes {
  std::int64_t first = 0, count = 1;
  static ReduceAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& reduce_op();
// Over any axes, in any order; a negative one counts from the end. With `keep` they stay, with an extent of 1. Axes
// that are not neighbours take a node for each group of neighbours. The mean over no elements is NaN.
ValueId reduce_sum(Graph& graph, ValueId x, std::vector<std::int64_t> axes, bool keep = false);
ValueId reduce_mean(Graph& graph, ValueId x, std::vector<std::int64_t> axes, bool keep = false);

// expand. Input x; output of the attribute `shape`, to which x broadcasts: each element wherever its axes were
// stretched.
struct ExpandAttributes {
  std::vector<std::int64_t> shape;
  static ExpandAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& expand_op();
ValueId expand(Graph& graph, ValueId x, const Shape& shape);

// NumPy's rule: shapes are aligned at their last axes, missing ones count as 1, and an extent of 1 stretches to the
// other's; none when two extents differ otherwise.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
// Factors of the axes of an operand that broadcasts to `to`, whose axes have the factors 0, 1, ...: the same where it
// is not stretched; `next` and following where it is.
std::vector<int> broadcast_factors(const Shape& from, const Shape& to, int& next);
// The gradient of an operand of shape `wanted` from that of what it was broadcast to: the sum over the stretched axes.
ValueId sum_to(Graph& graph, ValueId x, const Shape& wanted);

}  // namespace headway::graph
