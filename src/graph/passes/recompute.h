// Recomputation (activation checkpointing): what the forward leaves for the backward is made again instead of kept.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace headway::graph {

enum class Recompute : std::uint8_t { kNone, kSelective, kFull };

// Rewrites a differentiated graph; returns the number of nodes added (Node::recomputed). The bits of all results stay.
//
// kFull keeps what crosses from one block to the next and makes everything inside a block again just before its
// backward needs it (Chen et al. 2016, "Training deep nets with sublinear memory cost", with a model's own blocks as
// segments). A block is a name up to its first number ("layers.3" of "layers.3.attn.qkv"), or its first word.
// kSelective makes again only what costs no multiply-add and can be made from values that are kept anyway: norms,
// activations, dropout (after Korthikanti et al. 2022, "Reducing activation recomputation in large transformer models";
// attention never keeps its scores here). The block of the loss is left alone: its backward begins at once.
std::int64_t recompute(Graph& graph, Recompute what);

}  // namespace headway::graph
