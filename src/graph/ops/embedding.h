// Rows of a table by index.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// embedding. Inputs table [rows, n], ids i32 [...]; output [..., n]. An id outside [0, rows) gives a row of NaN.
const Op& embedding_op();
ValueId embedding(Graph& graph, ValueId table, ValueId ids);

// embedding_grad. Inputs dy [..., n], ids; attribute `rows`; output dtable [rows, n], each row summed in the order of
// ids.
struct EmbeddingGradAttributes {
  std::int64_t rows = 0;
  static EmbeddingGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& embedding_grad_op();

// position_embedding. Inputs x [..., sequence, n], table [positions, n] of at least `sequence` rows; output x with row
// i of the table added to position i.
const Op& position_embedding_op();
ValueId position_embedding(Graph& graph, ValueId x, ValueId table);

// position_embedding_grad. Input dy [..., sequence, n]; attribute `rows`; output dtable [rows, n]: dy summed over the
// leading axes in order, zeros in the rows behind the sequence.
const Op& position_embedding_grad_op();

}  // namespace headway::graph
