// Joining along an axis, and cutting out a part of one: each other's gradient.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// concat. Inputs x0, x1, ... of equal shape but for one axis; output their parts one after the other on that axis.
struct ConcatAttributes {
  std::int64_t axis = 0;
  static ConcatAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& concat_op();
// A negative axis counts from the end, here and below.
ValueId concat(Graph& graph, const std::vector<ValueId>& parts, std::int64_t axis);

// slice. Input x; output the elements begin, begin + 1, ... of one axis, `length` of them.
struct SliceAttributes {
  std::int64_t axis = 0, begin = 0, length = 0;
  static SliceAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& slice_op();
ValueId slice(Graph& graph, ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t length);

// slice_grad. Input dy; attributes of the slice and `shape` = the shape of x; output dx: dy in its place, 0 elsewhere.
struct SliceGradAttributes {
  SliceAttributes slice;
  std::vector<std::int64_t> shape;
  static SliceGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& slice_grad_op();

}  // namespace headway::graph
