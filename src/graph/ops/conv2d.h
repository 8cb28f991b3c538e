// 2-D convolution (cross-correlation, as everywhere in the field), activations channels-last.
#pragma once

#include <array>

#include "graph/graph.h"
#include "graph/ops/activation.h"

namespace headway::graph {

// conv2d. Inputs x [batch, height, width, in], w [out, in, kernel_h, kernel_w], optional b [out];
// output activation(conv) [batch, out_height, out_width, out]. `padding` is zeros on both sides of each axis.
struct Conv2dAttributes {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};
  std::array<std::int64_t, 2> dilation = {1, 1};
  Activation activation = Activation::kNone;  // made by the fusion pass
  static Conv2dAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& conv2d_op();
ValueId conv2d(Graph& graph, ValueId x, ValueId w, ValueId b, Conv2dAttributes attributes);

// conv2d_grad_input. Inputs dy [batch, oh, ow, out], w; attribute `shape` = the shape of x; output dx.
// conv2d_grad_weight. Inputs dy, x; attributes `kernel` = {kernel_h, kernel_w} and bias; outputs dw and, with bias, db.
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
