// Change of the element type.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// cast. Input x of any shape; output the same values in `dtype`, rounded to the nearest, ties to even. f32 to bf16 and
// back; a value beyond bf16's range cannot arise, it is f32's.
struct CastAttributes {
  DType dtype = DType::kBF16;
  static CastAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& cast_op();
ValueId cast(Graph& graph, ValueId x, DType dtype);

}  // namespace headway::graph
