// A small network with BatchNorm after an activation and before one, as tools/peers/torch_reference.py writes it.
#pragma once

#include "graph/graph.h"

namespace headway::tests {

// Images [samples, 6, 5, 1] to one value each; mean squared error.
graph::Graph build_norm_net(std::int64_t samples, bool training);

}  // namespace headway::tests
