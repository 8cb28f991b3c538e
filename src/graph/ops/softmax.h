// Softmax over the last axis.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// softmax. Input x [..., n]; output of the same shape.
const Op& softmax_op();
ValueId softmax(Graph& graph, ValueId x);

// softmax_grad. Inputs dy, y; output dx = y * (dy - sum(dy * y)).
const Op& softmax_grad_op();

}  // namespace headway::graph
