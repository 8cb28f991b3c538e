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

}  // namespace headway::graph
