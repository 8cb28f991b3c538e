// 2-D convolution (cross-correlation, as everywhere in the field), activations channels-last.
#pragma once

#include <array>

#include "graph/graph.h"
#include "graph/ops/activation.h"
#include "graph/ops/window.h"

namespace headway::graph {

// conv2d. Inputs x [batch, height, width, in], w [out, in, kernel_h, kernel_w], optional b [out];
// output activation(conv) [batch, out_height, out_width, out]. `activation` is one whose gradient needs its output
// only.
struct Conv2dAttributes {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<Padding, 2> padding = {};
  std::array<std::int64_t, 2> dilation = {1, 1};
  Activation activation = Activation::kNone;  // made by the fusion pass
  static Conv2dAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& conv2d_op();
ValueId conv2d(Graph& graph, ValueId x, ValueId w, ValueId b, Conv2dAttributes attributes);

// A convolution over steps: x [batch, steps, in], w [out, in, kernel], optional b [out]; y [batch, out_steps, out]. It
// is conv2d of height 1. `padding` {dilation * (kernel - 1), 0} makes it causal: y at a step sees that step and earlier
// ones.
struct Conv1dAttributes {
  std::int64_t stride = 1;
  Padding padding;
  std::int64_t dilation = 1;
};
ValueId conv1d(Graph& graph, ValueId x, ValueId w, ValueId b, const Conv1dAttributes& attributes);

// conv2d_grad_input. Inputs dy [batch, oh, ow, out], w; attribute `shape` = the shape of x; output dx.
// conv2d_grad_weight. Inputs dy, x; attributes `kernel` = {kernel_h, kernel_w} and bias; outputs dw and, with bias, db.
// With an activation (made by the fusion pass) both have a third input, its output y, and dy is the gradient at y.
struct Conv2dGradInputAttributes {
  Conv2dAttributes conv;
  std::vector<std::int64_t> shape;
  static Conv2dGradInputAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
struct Conv2dGradWeightAttributes {
  Conv2dAttributes conv;
  std::vector<std::int64_t> kernel;
  bool bias = true;
  static Conv2dGradWeightAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& conv2d_grad_input_op();
const Op& conv2d_grad_weight_op();

}  // namespace headway::graph
