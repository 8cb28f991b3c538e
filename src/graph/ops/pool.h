// 2-D max-pooling, channels-last.
#pragma once

#include "graph/graph.h"
#include "graph/ops/window.h"

namespace headway::graph {

// max_pool2d. Input x [batch, height, width, channels]; outputs y [batch, oh, ow, channels] and the position of each
// maximum in its window (row * kernel_w + column, the first of equals), u8.
const Op& max_pool2d_op();
ValueId max_pool2d(Graph& graph, ValueId x, Pool2dAttributes attributes);

// max_pool2d_grad. Inputs dy, position; Pool2dGradAttributes; output dx.
const Op& max_pool2d_grad_op();

}  // namespace headway::graph
