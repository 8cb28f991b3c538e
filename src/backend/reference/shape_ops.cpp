#include "graph/ops/shape_ops.h"

#include "backend/reference/functions.h"

namespace headway::backend::reference {

void reshape(const Call& call) {
  call.outputs[0] = call.inputs[0];
}

void transpose(const Call& call) {
  const auto permutation = graph::TransposeAttributes::from(call.attributes).permutation;
  const Shape& in = call.in_shape(0);
  const Shape& out = call.out_shape(0);
  std::vector<std::int64_t> index(permutation.size(), 0);  // of the input
  for (const double element : call.inputs[0]) {
    std::int64_t to = 0;
    for (std::size_t axis = 0; axis < permutation.size(); ++axis) {
      to = to * out[static_cast<std::int64_t>(axis)] + index[static_cast<std::size_t>(permutation[axis])];
    }
    call.outputs[0][static_cast<std::size_t>(to)] = element;
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < in[static_cast<std::int64_t>(axis)]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace headway::backend::reference
