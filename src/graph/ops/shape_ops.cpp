#include "graph/ops/shape_ops.h"

#include <fmt/core.h>

#include <algorithm>

#include "graph/autodiff.h"

namespace headway::graph {

TransposeAttributes TransposeAttributes::from(const Attributes& attributes) {
  return {attributes.list("permutation")};
}

Attributes TransposeAttributes::to_attributes() const {
  return {{"permutation", permutation}};
}

namespace {

class Reshape final : public Op {
 public:
  std::string_view name() const override { return "reshape"; }
  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const Shape shape(attributes.list("shape"));
    if (shape.elements() != inputs[0].shape.elements()) {
      fail_shapes(name(), fmt::format("{} has another number of elements", headway::to_string(shape)), inputs);
    }
    return {{inputs[0].dtype, shape}};
  }
  OpCost cost(const Attributes&, Types, Types) const override { return {}; }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    // The first axis may be split when both sides have it; the others are merged or cut and stay whole.
    const std::vector<TensorType> outputs = infer(attributes, inputs);
    ShardingRule rule = replicated_rule(inputs, outputs);
    const Shape& from = inputs[0].shape;
    const Shape& to = outputs[0].shape;
    if (from.rank() > 0 && to.rank() > 0 && from[0] == to[0]) {
      std::erase(rule.whole, rule.inputs[0][0]);
      std::erase(rule.whole, rule.outputs[0][0]);
      rule.outputs[0][0] = rule.inputs[0][0];
    }
    return rule;
  }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {reshape(context.graph(), context.output_gradient(0), context.type(context.input(0)).shape)};
  }
  bool is_view() const override { return true; }
};

class Transpose final : public Op {
 public:
  std::string_view name() const override { return "transpose"; }
  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const std::vector<std::int64_t> permutation = TransposeAttributes::from(attributes).permutation;
    std::vector<std::int64_t> sorted = permutation;
    std::sort(sorted.begin(), sorted.end());
    bool valid = static_cast<std::int64_t>(sorted.size()) == inputs[0].shape.rank();
    for (std::size_t axis = 0; valid && axis < sorted.size(); ++axis) {
      valid = sorted[axis] == static_cast<std::int64_t>(axis);
    }
    if (!valid) fail_shapes(name(), "not a permutation of the axes", inputs);
    std::vector<std::int64_t> dims;
    for (const std::int64_t axis : permutation) dims.push_back(inputs[0].shape[axis]);
    return {{inputs[0].dtype, Shape(std::move(dims))}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    ShardingRule rule = pointwise_rule(inputs, 0);
    std::vector<int>& out = rule.outputs.emplace_back();
    for (const std::int64_t axis : TransposeAttributes::from(attributes).permutation) {
      out.push_back(static_cast<int>(axis));
    }
    return rule;
  }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    const std::vector<std::int64_t> permutation = TransposeAttributes::from(context.attributes()).permutation;
    std::vector<std::int64_t> inverse(permutation.size());
    for (std::size_t axis = 0; axis < permutation.size(); ++axis) {
      inverse[static_cast<std::size_t>(permutation[axis])] = static_cast<std::int64_t>(axis);
    }
    return {transpose(context.graph(), context.output_gradient(0), std::move(inverse))};
  }
};

}  // namespace

const Op& reshape_op() {
  static const Reshape op;
  return op;
}

const Op& transpose_op() {
  static const Transpose op;
  return op;
}

ValueId reshape(Graph& graph, ValueId x, const Shape& shape) {
  return graph.add_one(reshape_op(), {{"shape", shape.dims()}}, {x});
}

ValueId transpose(Graph& graph, ValueId x, std::vector<std::int64_t> permutation) {
  return graph.add_one(transpose_op(), TransposeAttributes{std::move(permutation)}.to_attributes(), {x});
}

}  // namespace headway::graph
