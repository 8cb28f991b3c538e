// What convolutions and pools share: windows that slide over two axes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace headway::graph {

// Zeros (of a max-pool: nothing) before the first and behind the last element of an axis.
struct Padding {
  std::int64_t before = 0, after = 0;

  constexpr Padding() = default;
  constexpr Padding(std::int64_t both) : before(both), after(both) {}  // NOLINT: a number is padding on both sides
  constexpr Padding(std::int64_t first, std::int64_t last) : before(first), after(last) {}
  bool operator==(const Padding&) const = default;
};

// Positions of a window that reaches over `reach` elements, on an axis of `size`.
constexpr std::int64_t window_positions(std::int64_t size, std::int64_t reach, std::int64_t stride, Padding padding) {
  return (size + padding.before + padding.after - reach) / stride + 1;
}

// Pairs as attributes; paddings are the list {before, after} of one axis and of the other.
std::vector<std::int64_t> to_list(const std::array<std::int64_t, 2>& pair);
std::vector<std::int64_t> to_list(const std::array<Padding, 2>& paddings);
std::array<std::int64_t, 2> pair_of(const Attributes& attributes, std::string_view name);
std::array<Padding, 2> paddings_of(const Attributes& attributes, std::string_view name);

// Of every pool: y has window_positions of x along height and width, its channels are those of x. Padding is smaller
// than the window, so that every window holds an element.
struct Pool2dAttributes {
  std::array<std::int64_t, 2> kernel = {2, 2};
  std::array<std::int64_t, 2> stride = {2, 2};
  std::array<Padding, 2> padding = {};
  static Pool2dAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
// The shape of y; UserError when x and the window do not fit.
Shape pooled_shape(std::string_view op, Types inputs, const Pool2dAttributes& attributes);
Shape pooled(const Shape& x, const Pool2dAttributes& attributes);

// Of the gradients; `shape` is the shape of x.
struct Pool2dGradAttributes {
  Pool2dAttributes pool;
  std::vector<std::int64_t> shape;
  static Pool2dGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};

}  // namespace headway::graph
