#include "graph/ops/window.h"

namespace headway::graph {

std::vector<std::int64_t> to_list(const std::array<std::int64_t, 2>& pair) {
  return {pair[0], pair[1]};
}

std::vector<std::int64_t> to_list(const std::array<Padding, 2>& paddings) {
  return {paddings[0].before, paddings[0].after, paddings[1].before, paddings[1].after};
}

std::array<std::int64_t, 2> pair_of(const Attributes& attributes, std::string_view name) {
  const std::vector<std::int64_t>& list = attributes.list(name);
  return {list.at(0), list.at(1)};
}

std::array<Padding, 2> paddings_of(const Attributes& attributes, std::string_view name) {
  const std::vector<std::int64_t>& list = attributes.list(name);
  return {Padding(list.at(0), list.at(1)), Padding(list.at(2), list.at(3))};
}

Pool2dAttributes Pool2dAttributes::from(const Attributes& attributes) {
  return {pair_of(attributes, "kernel"), pair_of(attributes, "stride"), paddings_of(attributes, "padding")};
}

Attributes Pool2dAttributes::to_attributes() const {
  return {{"kernel", to_list(kernel)}, {"stride", to_list(stride)}, {"padding", to_list(padding)}};
}

Pool2dGradAttributes Pool2dGradAttributes::from(const Attributes& attributes) {
  return {Pool2dAttributes::from(attributes), attributes.list("shape")};
}

Attributes Pool2dGradAttributes::to_attributes() const {
  Attributes attributes = pool.to_attributes();
  attributes.set("shape", shape);
  return attributes;
}

Shape pooled(const Shape& x, const Pool2dAttributes& attributes) {
  const auto positions = [&](std::size_t axis) {
    return window_positions(x.dims()[axis + 1], attributes.kernel[axis], attributes.stride[axis],
                            attributes.padding[axis]);
  };
  return Shape{x[0], positions(0), positions(1), x[3]};
}

Shape pooled_shape(std::string_view op, Types inputs, const Pool2dAttributes& attributes) {
  require_inputs(op, inputs, 1, 1);
  require_rank(op, inputs, 0, 4, 4);
  const Shape& x = inputs[0].shape;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t kernel = attributes.kernel[axis];
    const Padding padding = attributes.padding[axis];
    if (kernel < 1 || attributes.stride[axis] < 1) fail_shapes(op, "window and stride must be positive", inputs);
    if (padding.before < 0 || padding.after < 0 || padding.before >= kernel || padding.after >= kernel) {
      fail_shapes(op, "padding must be smaller than the window, and not negative", inputs);
    }
    if (x.dims()[axis + 1] + padding.before + padding.after < kernel) {
      fail_shapes(op, "the window is larger than the padded input", inputs);
    }
  }
  return pooled(x, attributes);
}

}  // namespace headway::graph
