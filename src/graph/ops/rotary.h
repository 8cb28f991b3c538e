// Rotary positions: pairs of channels of queries and keys turned by an angle that grows with the position.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// rotary. Input x [batch, sequence, width], of which the first `heads` * `head_size` channels are heads to rotate, the
// rest is copied: of a packed qkv the queries and keys. Output the same shape. At position i the channels d and
// d + head_size / 2 of a head are turned by the angle i * theta^(-2 d / head_size), backwards with `inverse` (Su et al.
// 2021, "RoFormer"; the halves are paired as in GPT-NeoX and LLaMA). The gradient is the inverse rotation.
struct RotaryAttributes {
  std::int64_t heads = 1;
  std::int64_t head_size = 2;
  double theta = 10000;
  bool inverse = false;
  static RotaryAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& rotary_op();
ValueId rotary(Graph& graph, ValueId x, RotaryAttributes attributes);

}  // namespace headway::graph
