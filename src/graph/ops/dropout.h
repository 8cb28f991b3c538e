// Dropout by counter-based random numbers: no mask is stored, the gradient draws the same numbers again.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// dropout. Inputs x [batch, ...], position i64 [4] (see position_input()); output x / (1 - p) where the uniform number
// random_bits(seed, stream, step, element) is at least p, else 0; `element` counts over the global batch.
// Its gradient is the same op on dy.
struct DropoutAttributes {
  double p = 0;
  std::int64_t stream = 0;  // a number of its own for each dropout of a model
  static DropoutAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& dropout_op();
ValueId dropout(Graph& graph, ValueId x, DropoutAttributes attributes);

// The input "position", i64 [4]: seed, step, micro-batch of the step, first sample in the step's global batch.
// Added on first use.
enum PositionIndex : std::int64_t { kSeed, kStep, kMicroBatch, kFirstSample };
ValueId position_input(Graph& graph);

}  // namespace headway::graph
