#include "graph/ops/reduce.h"

#include "backend/reference/functions.h"

namespace headway::backend::reference {

// The element of an operand of `shape` that meets element `index` of what it is broadcast to.
std::size_t broadcast_index(std::size_t index, const Shape& to, const Shape& shape) {
  std::size_t at = 0, stride = 1;
  for (std::int64_t back = 1; back <= to.rank(); ++back) {
    const auto extent = static_cast<std::size_t>(to[-back]);
    const std::size_t place = index % extent;
    index /= extent;
    if (back > shape.rank()) continue;
    if (shape[-back] != 1) at += place * stride;
    stride *= static_cast<std::size_t>(shape[-back]);
  }
  return at;
}

void reduce(const Call& call) {
  const auto attributes = graph::ReduceAttributes::from(call.attributes);
  const Shape& shape = call.in_shape(0);
  std::vector<std::int64_t> kept = shape.dims();
  for (std::int64_t axis = attributes.first; axis < attributes.first + attributes.count; ++axis) {
    kept[static_cast<std::size_t>(axis)] = 1;
  }
  const Shape sums(std::move(kept));
  for (std::size_t i = 0; i < call.inputs[0].size(); ++i) {
    call.outputs[0][broadcast_index(i, shape, sums)] += call.inputs[0][i];
  }
}

void expand(const Call& call) {
  const Shape to(graph::ExpandAttributes::from(call.attributes).shape);
  for (std::size_t i = 0; i < call.outputs[0].size(); ++i) {
    call.outputs[0][i] = call.inputs[0][broadcast_index(i, to, call.in_shape(0))];
  }
}

}  // namespace headway::backend::reference
