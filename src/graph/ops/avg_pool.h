// 2-D average pooling, channels-last.
#pragma once

#include "graph/graph.h"
#include "graph/ops/window.h"

namespace headway::graph {

// avg_pool2d. Input x [batch, height, width, channels]; output y [batch, oh, ow, channels], the mean of each window:
// y[n, i, j, c] = sum over ky, kx of x[n, i * stride_h + ky, j * stride_w + kx, c] / (kernel_h * kernel_w), padding
// counted as zeros. LeCun et al. 1998, "Gradient-based learning applied to document recognition".
const Op& avg_pool2d_op();
ValueId avg_pool2d(Graph& graph, ValueId x, Pool2dAttributes attributes);

// avg_pool2d_grad. Input dy; Pool2dGradAttributes; output dx, where each element of x gets
// dy / (kernel_h * kernel_w) from every window that it is in.
const Op& avg_pool2d_grad_op();

}  // namespace headway::graph
