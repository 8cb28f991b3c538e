// Element-wise arithmetic, sums over leading axes, and accumulation over micro-batches.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// add, sub, mul, div. Inputs a, b; output a + b, a - b, a b, a / b of the shape to which both broadcast (reduce.h).
const Op& add_op();
const Op& sub_op();
const Op& mul_op();
const Op& div_op();
ValueId add(Graph& graph, ValueId a, ValueId b);
ValueId sub(Graph& graph, ValueId a, ValueId b);
ValueId mul(Graph& graph, ValueId a, ValueId b);
ValueId div(Graph& graph, ValueId a, ValueId b);

// scale. Input x; output factor * x.
struct ScaleAttributes {
  double factor = 1;
  static ScaleAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& scale_op();
ValueId scale(Graph& graph, ValueId x, double factor);

// fill. No inputs; output of the attribute `shape`, every element `value`.
struct FillAttributes {
  double value = 0;
  std::vector<std::int64_t> shape;
  static FillAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& fill_op();

// sum_leading. Input x; output x summed over all axes but the last `keep`. Rows are summed in fixed blocks, block sums
// in block order.
struct SumLeadingAttributes {
  std::int64_t keep = 1;
  static SumLeadingAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& sum_leading_op();
ValueId sum_leading(Graph& graph, ValueId x, std::int64_t keep);

// accumulate. Inputs accumulator (state), x of the same shape, position; output: the accumulator, in place:
// x on micro-batch 0, accumulator + x on later ones.
const Op& accumulate_op();

}  // namespace headway::graph
