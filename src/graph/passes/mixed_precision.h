// Mixed precision: products on bf16 operands, everything else in f32.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace headway::graph {

// Puts a cast to bf16 in front of both operands of every linear and matmul that is worth it, forward and backward, one
// cast a value; returns the number of products. Sums, biases, norms, losses, gradients of parameters and the
// optimizer's master weights stay f32 (Micikevicius et al. 2018, "Mixed precision training"; with bf16's range of
// exponents no loss scaling is needed). What the backward multiplies again is kept as bf16 only. Runs after fusion.
std::int64_t mixed_precision(Graph& graph);

}  // namespace headway::graph
