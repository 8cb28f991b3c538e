// Linear layers of several groups of rows, each with weights of its own: the experts of a mixture.
#pragma once

#include "graph/graph.h"
#include "graph/ops/linear.h"

namespace headway::graph {

// grouped_linear. Inputs x [rows, k], w [groups, n, k], offsets i32 [groups + 1] and perhaps b [groups, n]; output
// y [rows, n] = activation(x w[g]^T + b[g]) for the rows [offsets[g], offsets[g + 1]), zeros behind the last group.
// Attributes as for linear; with keep_pre a second output, the value before the activation.
const Op& grouped_linear_op();
ValueId grouped_linear(Graph& graph, ValueId x, ValueId w, ValueId offsets, ValueId b);

// grouped_linear_grad_input. Inputs dy [rows, n], w, offsets; output dx [rows, k] = dy w[g], zeros behind the last
// group.
const Op& grouped_linear_grad_input_op();

// grouped_linear_grad_weight. Inputs dy [rows, n], x [rows, k], offsets; outputs dw [groups, n, k] = dy^T x over the
// rows of each group and, with `bias`, db [groups, n], the sums of dy over them.
struct GroupedLinearGradWeightAttributes {
  bool bias = true;
  static GroupedLinearGradWeightAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& grouped_linear_grad_weight_op();

}  // namespace headway::graph
