// SwiGLU, the gated activation of Shazeer 2020 ("GLU Variants Improve Transformer"): silu(gate) * up.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// swiglu. Inputs gate, up of equal shapes; output y = gate sigmoid(gate) up.
const Op& swiglu_op();
ValueId swiglu(Graph& graph, ValueId gate, ValueId up);

// swiglu_grad. Inputs dy, gate, up; outputs dgate, dup.
const Op& swiglu_grad_op();

}  // namespace headway::graph
