// Names for curves of cost: which nodes take equally long at equal sizes.
#pragma once

#include <string>

#include "graph/graph.h"

namespace headway::graph {

// The op and what changes its speed, stable over versions: its words that are not "none", then the names of its flags
// that are set: "layernorm.gelu_erf.residual", "matmul.flatten.transpose_a", "adamw". Numbers and lists say how large
// or how much, not how fast, and are left out.
std::string cost_key(const Node& node);
std::string cost_key(const Op& op, const Attributes& attributes);

}  // namespace headway::graph
