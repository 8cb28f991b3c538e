// The explicit list of all ops.
#pragma once

#include <span>

#include "graph/op.h"

namespace headway::graph {

// Every op there is, in the order of ops/all.cpp.
std::span<const Op* const> all_ops();

}  // namespace headway::graph
