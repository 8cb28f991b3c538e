#include "graph/ops/concat.h"

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

// Calls body(element of the whole, element of the part) for the part [begin, begin + its extent) of an axis.
template <class Body>
void for_each_of_part(const Shape& whole, const Shape& part, std::int64_t axis, std::int64_t begin, Body body) {
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t i = 0; i < axis; ++i) outer *= whole[i];
  for (std::int64_t i = axis + 1; i < whole.rank(); ++i) inner *= whole[i];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < part[axis] * inner; ++i) {
      body(static_cast<std::size_t>((o * whole[axis] + begin) * inner + i),
           static_cast<std::size_t>(o * part[axis] * inner + i));
    }
  }
}

}  // namespace

void concat(const Call& call) {
  const std::int64_t axis = graph::ConcatAttributes::from(call.attributes).axis;
  std::int64_t begin = 0;
  for (std::size_t index = 0; index < call.inputs.size(); ++index) {
    for_each_of_part(call.out_shape(0), call.in_shape(index), axis, begin,
                     [&](std::size_t whole, std::size_t part) { call.outputs[0][whole] = call.inputs[index][part]; });
    begin += call.in_shape(index)[axis];
  }
}

void slice(const Call& call) {
  const auto attributes = graph::SliceAttributes::from(call.attributes);
  for_each_of_part(call.in_shape(0), call.out_shape(0), attributes.axis, attributes.begin,
                   [&](std::size_t whole, std::size_t part) { call.outputs[0][part] = call.inputs[0][whole]; });
}

void slice_grad(const Call& call) {
  const auto attributes = graph::SliceAttributes::from(call.attributes);
  for_each_of_part(call.out_shape(0), call.in_shape(0), attributes.axis, attributes.begin,
                   [&](std::size_t whole, std::size_t part) { call.outputs[0][whole] = call.inputs[0][part]; });
}

}  // namespace headway::backend::reference
