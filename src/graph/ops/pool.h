// 2-D max-pooling, channels-last.
#pragma once

#include <array>

#include "graph/graph.h"

namespace headway::graph {

// max_pool2d. Input x [batch, height, width, channels]; outputs y [batch, oh, ow, channels] and the position of each
// maximum in its window (row * kernel_w + column, the first of equals), u8. oh = (height - kernel) / stride + 1.
struct MaxPool2dAttributes {
  std::array<std::int64_t, 2> kernel = {2, 2};
  std::array<std::int64_t, 2> stride = {2, 2};
  static MaxPool2dAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& max_pool2d_op();
ValueId max_pool2d(Graph& graph, ValueId x, MaxPool2dAttributes attributes);

// max_pool2d_grad. Inputs dy, position; attribute `shape` = the shape of x; output dx.
struct MaxPool2dGradAttributes {
  MaxPool2dAttributes pool;
  std::vector<std::int64_t> shape;
  static MaxPool2dGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& max_pool2d_grad_op();

}  // namespace headway::graph
