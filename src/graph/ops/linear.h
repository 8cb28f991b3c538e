// linear: y = activation(x w^T + b); matmul: batched a b with either transposed.
#pragma once

#include "graph/graph.h"
#include "graph/ops/activation.h"

namespace headway::graph {

// linear. Inputs x [..., k], w [n, k], optional b [n] (f32 beside operands of bf16, whose result is f32); outputs y
// [..., n] and, with keep_pre, the value before the activation [..., n] (made by the fusion pass, for the gradient).
struct LinearAttributes {
  Activation activation = Activation::kNone;
  bool keep_pre = false;
  static LinearAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& linear_op();
ValueId linear(Graph& graph, ValueId x, ValueId w, ValueId b = kNoValue);

// matmul. Inputs a [..., m, k] (or [..., k, m] with transpose_a), b [..., k, n] (or [..., n, k] with transpose_b) with
// equal leading axes; output [..., m, n]. With `flatten` the leading axes of a and b are folded into rows first:
// a [..., k] x b [k, n] -> [..., n]; or with transpose_a: a [..., m], b [..., n] -> [m, n], summed over all rows.
struct MatmulAttributes {
  bool transpose_a = false;
  bool transpose_b = false;
  bool flatten = false;
  static MatmulAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& matmul_op();
ValueId matmul(Graph& graph, ValueId a, ValueId b, MatmulAttributes attributes = {});

// The sizes of the products of a matmul node, for kernels and costs.
struct MatmulShape {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
};
MatmulShape matmul_shape(const MatmulAttributes& attributes, const Shape& a, const Shape& b);

}  // namespace headway::graph
