#include "graph/ops/concat.h"

#include <fmt/format.h>

#include "graph/autodiff.h"

namespace headway::graph {

ConcatAttributes ConcatAttributes::from(const Attributes& attributes) {
  return {attributes.integer("axis")};
}
Attributes ConcatAttributes::to_attributes() const {
  return {{"axis", axis}};
}

SliceAttributes SliceAttributes::from(const Attributes& attributes) {
  return {attributes.integer("axis"), attributes.integer("begin"), attributes.integer("length")};
}
Attributes SliceAttributes::to_attributes() const {
  return {{"axis", axis}, {"begin", begin}, {"length", length}};
}

SliceGradAttributes SliceGradAttributes::from(const Attributes& attributes) {
  return {SliceAttributes::from(attributes), attributes.list("shape")};
}
Attributes SliceGradAttributes::to_attributes() const {
  Attributes attributes = slice.to_attributes();
  attributes.set("shape", shape);
  return attributes;
}

namespace {

Shape resized(const Shape& shape, std::int64_t axis, std::int64_t extent) {
  std::vector<std::int64_t> dims = shape.dims();
  dims[static_cast<std::size_t>(axis)] = extent;
  return Shape(std::move(dims));
}

void require_axis(std::string_view op, std::int64_t axis, const Shape& shape, Types inputs) {
  if (axis >= 0 && axis < shape.rank()) return;
  fail_shapes(op, fmt::format("axis {} of {}", axis, shape.rank()), inputs);
}

void require_part(std::string_view op, const SliceAttributes& slice, const Shape& shape, Types inputs) {
  require_axis(op, slice.axis, shape, inputs);
  const std::int64_t extent = shape[slice.axis];
  if (slice.begin >= 0 && slice.length >= 0 && slice.begin <= extent - slice.length) return;
  fail_shapes(op,
              fmt::format("{} elements from {} on are not within the {} of axis {}", slice.length, slice.begin, extent,
                          slice.axis),
              inputs);
}

// Every axis but one is split together; that one is whole, and has another extent in each operand.
ShardingRule whole_axis_rule(std::int64_t rank, std::int64_t axis, std::size_t inputs) {
  std::vector<int> factors;
  for (int index = 0; index < static_cast<int>(rank); ++index) factors.push_back(index);
  ShardingRule rule;
  for (std::size_t operand = 0; operand <= inputs; ++operand) {
    const int fresh = static_cast<int>(rank) + static_cast<int>(operand);
    factors[static_cast<std::size_t>(axis)] = fresh;
    rule.whole.push_back(fresh);
    (operand < inputs ? rule.inputs : rule.outputs).push_back(factors);
  }
  return rule;
}

class Concat final : public Op {
 public:
  std::string_view name() const override { return "concat"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1 << 20);
    const std::int64_t axis = ConcatAttributes::from(attributes).axis;
    require_axis(name(), axis, inputs[0].shape, inputs);
    std::int64_t extent = 0;
    for (const TensorType& part : inputs) {
      if (part.dtype != inputs[0].dtype) fail_shapes(name(), "types differ", inputs);
      if (part.shape.rank() != inputs[0].shape.rank() ||
          resized(part.shape, axis, 0) != resized(inputs[0].shape, axis, 0)) {
        fail_shapes(name(), fmt::format("shapes differ on another axis than {}", axis), inputs);
      }
      extent += part.shape[axis];
    }
    return {{inputs[0].dtype, resized(inputs[0].shape, axis, extent)}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return whole_axis_rule(inputs[0].shape.rank(), ConcatAttributes::from(attributes).axis, inputs.size());
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const std::int64_t axis = ConcatAttributes::from(context.attributes()).axis;
    std::vector<ValueId> gradients;
    std::int64_t begin = 0;
    for (std::size_t index = 0; index < context.inputs(); ++index) {
      const std::int64_t length = context.type(context.input(index)).shape[axis];
      gradients.push_back(context.needs(index) ? slice(context.graph(), context.output_gradient(0), axis, begin, length)
                                               : kNoValue);
      begin += length;
    }
    return gradients;
  }
};

class Slice final : public Op {
 public:
  std::string_view name() const override { return "slice"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const SliceAttributes attributes = SliceAttributes::from(raw);
    require_part(name(), attributes, inputs[0].shape, inputs);
    return {{inputs[0].dtype, resized(inputs[0].shape, attributes.axis, attributes.length)}};
  }
  // Only the part is read.
  OpCost cost(const Attributes&, Types, Types outputs) const override { return memory_cost(outputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return whole_axis_rule(inputs[0].shape.rank(), SliceAttributes::from(attributes).axis, 1);
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const Shape x = context.type(context.input(0)).shape;
    return {context.graph().add_one(
        slice_grad_op(), SliceGradAttributes{SliceAttributes::from(context.attributes()), x.dims()}.to_attributes(),
        {context.output_gradient(0)})};
  }
};

class SliceGrad final : public Op {
 public:
  std::string_view name() const override { return "slice_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const SliceGradAttributes attributes = SliceGradAttributes::from(raw);
    const Shape shape(attributes.shape);
    require_part(name(), attributes.slice, shape, inputs);
    if (inputs[0].shape != resized(shape, attributes.slice.axis, attributes.slice.length)) {
      fail_shapes(name(), fmt::format("the gradient is no such part of {}", headway::to_string(shape)), inputs);
    }
    return {{inputs[0].dtype, shape}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return whole_axis_rule(inputs[0].shape.rank(), SliceAttributes::from(attributes).axis, 1);
  }
};

}  // namespace

const Op& concat_op() {
  static const Concat op;
  return op;
}

const Op& slice_op() {
  static const Slice op;
  return op;
}

const Op& slice_grad_op() {
  static const SliceGrad op;
  return op;
}

ValueId concat(Graph& graph, const std::vector<ValueId>& parts, std::int64_t axis) {
  if (axis < 0 && !parts.empty()) axis += graph.value(parts[0]).type.shape.rank();
  return graph.add_one(concat_op(), ConcatAttributes{axis}.to_attributes(), parts);
}

ValueId slice(Graph& graph, ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t length) {
  if (axis < 0) axis += graph.value(x).type.shape.rank();
  return graph.add_one(slice_op(), SliceAttributes{axis, begin, length}.to_attributes(), {x});
}

}  // namespace headway::graph
