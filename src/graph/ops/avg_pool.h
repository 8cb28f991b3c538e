// 2-D average pooling, channels-last.
#pragma once

#include <array>

#include "graph/graph.h"

namespace headway::graph {

// avg_pool2d. Input x [batch, height, width, channels]; output y [batch, oh, ow, channels], the mean of each window:
// y[n, i, j, c] = sum over ky, kx of x[n, i * stride_h + ky, j * stride_w + kx, c] / (kernel_h * kernel_w).
// oh = (height - kernel) / stride + 1. LeCun et al. 1998, "Gradient-based learning applied to document recognition".
struct AvgPool2dAttributes {
  std::array<std::int64_t, 2> kernel = {2, 2};
  std::array<std::int64_t, 2> stride = {2, 2};
  static AvgPool2dAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& avg_pool2d_op();
ValueId avg_pool2d(Graph& graph, ValueId x, AvgPool2dAttributes attributes);

// avg_pool2d_grad. Input dy; attribute `shape` = the shape of x; output dx, where each element of x gets
// dy / (kernel_h * kernel_w) from every window that it is in.
struct AvgPool2dGradAttributes {
  AvgPool2dAttributes pool;
  std::vector<std::int64_t> shape;
  static AvgPool2dGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& avg_pool2d_grad_op();

}  // namespace headway::graph
