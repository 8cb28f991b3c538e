#include "graph/ops/arithmetic.h"

#include "graph/autodiff.h"
#include "graph/ops/reduce.h"

namespace headway::graph {

ScaleAttributes ScaleAttributes::from(const Attributes& attributes) {
  return {attributes.number("factor")};
}
Attributes ScaleAttributes::to_attributes() const {
  return {{"factor", factor}};
}

FillAttributes FillAttributes::from(const Attributes& attributes) {
  return {attributes.number("value"), attributes.list("shape")};
}
Attributes FillAttributes::to_attributes() const {
  return {{"value", value}, {"shape", shape}};
}

SumLeadingAttributes SumLeadingAttributes::from(const Attributes& attributes) {
  return {attributes.integer("keep")};
}
Attributes SumLeadingAttributes::to_attributes() const {
  return {{"keep", keep}};
}

namespace {

Shape trailing(const Shape& shape, std::int64_t axes) {
  return Shape(std::vector<std::int64_t>(shape.dims().end() - axes, shape.dims().end()));
}

// Shared by add, sub, mul and div.
class Binary : public Op {
 public:
  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    if (inputs[0].dtype != inputs[1].dtype) fail_shapes(name(), "types differ", inputs);
    const std::optional<Shape> shape = broadcast(inputs[0].shape, inputs[1].shape);
    if (!shape) {
      fail_shapes(name(), "from the last axis on, extents must be equal, or one of them 1", inputs);
    }
    return {{inputs[0].dtype, *shape}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    const Shape shape = infer(attributes, inputs)[0].shape;
    ShardingRule rule = pointwise_rule(std::vector<TensorType>{{inputs[0].dtype, shape}}, 1);
    int next = static_cast<int>(shape.rank());
    rule.inputs.clear();
    for (const TensorType& input : inputs) rule.inputs.push_back(broadcast_factors(input.shape, shape, next));
    return rule;
  }

 protected:
  // The gradient of an operand from one like the output: its sum over the axes that the operand was broadcast over.
  static ValueId to_input(GradientContext& context, std::size_t index, ValueId like_output) {
    return sum_to(context.graph(), like_output, context.type(context.input(index)).shape);
  }
};

class Add final : public Binary {
 public:
  std::string_view name() const override { return "add"; }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    std::vector<ValueId> gradients(2, kNoValue);
    for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
      if (context.needs(index)) gradients[index] = to_input(context, index, context.output_gradient(0));
    }
    return gradients;
  }
};

class Sub final : public Binary {
 public:
  std::string_view name() const override { return "sub"; }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    const ValueId dy = context.output_gradient(0);
    std::vector<ValueId> gradients(2, kNoValue);
    if (context.needs(0)) gradients[0] = to_input(context, 0, dy);
    if (context.needs(1)) gradients[1] = scale(context.graph(), to_input(context, 1, dy), -1);
    return gradients;
  }
};

class Mul final : public Binary {
 public:
  std::string_view name() const override { return "mul"; }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    const ValueId dy = context.output_gradient(0);
    std::vector<ValueId> gradients(2, kNoValue);
    for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
      if (!context.needs(index)) continue;
      gradients[index] = to_input(context, index, mul(context.graph(), dy, context.input(1 - index)));
    }
    return gradients;
  }
};

class Div final : public Binary {
 public:
  std::string_view name() const override { return "div"; }
  // With q = dy / b: da = q and, since y = a / b, db = -q y.
  std::vector<ValueId> gradient(GradientContext& context) const override {
    Graph& graph = context.graph();
    const ValueId quotient = div(graph, context.output_gradient(0), context.input(1));
    std::vector<ValueId> gradients(2, kNoValue);
    if (context.needs(0)) gradients[0] = to_input(context, 0, quotient);
    if (context.needs(1)) {
      gradients[1] = scale(graph, to_input(context, 1, mul(graph, quotient, context.output(0))), -1);
    }
    return gradients;
  }
};

class Scale final : public Op {
 public:
  std::string_view name() const override { return "scale"; }
  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return pointwise_rule(inputs, 1); }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {context.graph().add_one(scale_op(), context.attributes(), {context.output_gradient(0)})};
  }
};

class Fill final : public Op {
 public:
  std::string_view name() const override { return "fill"; }
  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 0, 0);
    return {{DType::kF32, Shape(FillAttributes::from(attributes).shape)}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return replicated_rule(inputs, infer(attributes, inputs));
  }
};

class SumLeading final : public Op {
 public:
  std::string_view name() const override { return "sum_leading"; }
  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const std::int64_t keep = SumLeadingAttributes::from(attributes).keep;
    if (keep < 0 || keep > inputs[0].shape.rank()) fail_shapes(name(), "keeps more axes than there are", inputs);
    return {{inputs[0].dtype, trailing(inputs[0].shape, keep)}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    ShardingRule rule = pointwise_rule(inputs, 0);
    const std::vector<int>& axes = rule.inputs[0];
    rule.outputs = {{axes.end() - SumLeadingAttributes::from(attributes).keep, axes.end()}};
    return rule;
  }
  // The gradient again for every row.
  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {expand(context.graph(), context.output_gradient(0), context.type(context.input(0)).shape)};
  }
};

class Accumulate final : public Op {
 public:
  std::string_view name() const override { return "accumulate"; }
  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 3, 3);
    if (inputs[0] != inputs[1]) fail_shapes(name(), "accumulator and value differ", inputs);
    require_dtype(name(), inputs, 2, DType::kI64);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override {
    ShardingRule rule = pointwise_rule(inputs.first(2), 1);
    const int position = static_cast<int>(inputs[0].shape.rank());
    rule.inputs.push_back({position});
    rule.whole.push_back(position);
    return rule;
  }
  std::vector<Alias> aliases(const Attributes&, std::int64_t) const override { return {{0, 0}}; }
};

}  // namespace

const Op& add_op() {
  static const Add op;
  return op;
}

const Op& sub_op() {
  static const Sub op;
  return op;
}

const Op& mul_op() {
  static const Mul op;
  return op;
}

const Op& div_op() {
  static const Div op;
  return op;
}

const Op& scale_op() {
  static const Scale op;
  return op;
}

const Op& fill_op() {
  static const Fill op;
  return op;
}

const Op& sum_leading_op() {
  static const SumLeading op;
  return op;
}

const Op& accumulate_op() {
  static const Accumulate op;
  return op;
}

ValueId add(Graph& graph, ValueId a, ValueId b) {
  return graph.add_one(add_op(), {}, {a, b});
}

ValueId sub(Graph& graph, ValueId a, ValueId b) {
  return graph.add_one(sub_op(), {}, {a, b});
}

ValueId mul(Graph& graph, ValueId a, ValueId b) {
  return graph.add_one(mul_op(), {}, {a, b});
}

ValueId div(Graph& graph, ValueId a, ValueId b) {
  return graph.add_one(div_op(), {}, {a, b});
}

ValueId scale(Graph& graph, ValueId x, double factor) {
  return graph.add_one(scale_op(), ScaleAttributes{factor}.to_attributes(), {x});
}

ValueId sum_leading(Graph& graph, ValueId x, std::int64_t keep) {
  return graph.add_one(sum_leading_op(), SumLeadingAttributes{keep}.to_attributes(), {x});
}

}  // namespace headway::graph
