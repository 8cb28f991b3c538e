#include "graph/ops/moe.h"

#include <cmath>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/ops/arithmetic.h"

namespace headway::graph {

MoeRouteAttributes MoeRouteAttributes::from(const Attributes& attributes) {
  return {attributes.integer("choices"), attributes.integer("capacity")};
}

Attributes MoeRouteAttributes::to_attributes() const {
  return {{"choices", choices}, {"capacity", capacity}};
}

std::int64_t expert_capacity(std::int64_t tokens, std::int64_t experts, std::int64_t choices, double factor) {
  const double even = static_cast<double>(tokens * choices) / static_cast<double>(experts);
  return std::max<std::int64_t>(1, std::llround(std::ceil(factor * even)));
}

namespace {

constexpr std::size_t kWeights = 0, kRows = 1, kChosen = 4, kProbabilities = 5, kLoad = 6, kBalance = 7;

ValueId zeros_like(Graph& graph, ValueId value) {
  return graph.add_one(fill_op(), FillAttributes{0.0, graph.value(value).type.shape.dims()}.to_attributes(), {});
}

class MoeRoute final : public Op {
 public:
  std::string_view name() const override { return "moe_route"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    require_rank(name(), inputs, 0, 2, 2);
    const auto [choices, capacity] = MoeRouteAttributes::from(raw);
    const std::int64_t tokens = inputs[0].shape[0], experts = inputs[0].shape[1];
    if (experts < 1) fail_shapes(name(), "there are no experts", inputs);
    if (choices < 1 || choices > experts) {
      fail_shapes(name(), "a token cannot choose " + std::to_string(choices) + " of the experts", inputs);
    }
    if (capacity < 1) fail_shapes(name(), "an expert must take one token at least", inputs);
    const TensorType each{DType::kI32, {tokens, choices}}, scalar{DType::kF32, {}};
    return {{DType::kF32, {tokens, choices}}, each,   {DType::kI32, {tokens * choices}},
            {DType::kI32, {experts + 1}},     each,   {DType::kF32, {tokens, experts}},
            {DType::kF32, {experts}},         scalar, scalar};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return replicated_rule(inputs, infer(attributes, inputs));  // what is full depends on all tokens
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    Graph& graph = context.graph();
    const auto given = [&](std::size_t output) {
      const ValueId gradient = context.output_gradient(output);
      return gradient != kNoValue ? gradient : zeros_like(graph, context.output(output));
    };
    const ValueId dweights = given(kWeights), dbalance = given(kBalance);
    return {graph.add_one(moe_route_grad_op(), {},
                          {dweights, dbalance, context.output(kProbabilities), context.output(kChosen),
                           context.output(kRows), context.output(kLoad)})};
  }
};

class MoeRouteGrad final : public Op {
 public:
  std::string_view name() const override { return "moe_route_grad"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 6, 6);
    require_rank(name(), inputs, 0, 2, 2);
    require_rank(name(), inputs, 2, 2, 2);
    for (const std::size_t index : {3, 4}) {
      require_dtype(name(), inputs, index, DType::kI32);
      if (inputs[index].shape != inputs[0].shape) fail_shapes(name(), "choices and their gradient differ", inputs);
    }
    if (inputs[1].shape.rank() != 0) fail_shapes(name(), "the gradient of the balance must be a scalar", inputs);
    if (inputs[2].shape[0] != inputs[0].shape[0]) fail_shapes(name(), "numbers of tokens differ", inputs);
    if (inputs[5].shape != Shape{inputs[2].shape[1]}) fail_shapes(name(), "one load an expert is needed", inputs);
    return {inputs[2]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return replicated_rule(inputs, infer(attributes, inputs));
  }
};

// rows [tokens, choices] and sources [tokens * choices] at inputs 1 and 2, weights like rows at 3 if there.
void require_routing(std::string_view op, Types inputs) {
  require_inputs(op, inputs, 3, 4);
  require_rank(op, inputs, 0, 2, 2);
  require_rank(op, inputs, 1, 2, 2);
  require_dtype(op, inputs, 1, DType::kI32);
  require_dtype(op, inputs, 2, DType::kI32);
  const Shape& rows = inputs[1].shape;
  if (inputs[2].shape != Shape{rows.elements()}) fail_shapes(op, "one source a row is needed", inputs);
  if (inputs.size() == 4 && inputs[3].shape != rows) fail_shapes(op, "one weight a choice is needed", inputs);
}

// Only the columns are split: rows go anywhere.
ShardingRule column_rule(Types inputs) {
  ShardingRule rule{{{0, 1}, {2, 3}, {4}}, {{5, 1}}, {0, 2, 3, 4, 5}};
  if (inputs.size() == 4) rule.inputs.push_back({2, 3});
  return rule;
}

class MoeDispatch final : public Op {
 public:
  std::string_view name() const override { return "moe_dispatch"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_routing(name(), inputs);
    if (inputs[0].shape[0] != inputs[1].shape[0]) fail_shapes(name(), "x must have a row a token", inputs);
    return {{inputs[0].dtype, {inputs[2].shape[0], inputs[0].shape[1]}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return column_rule(inputs); }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    std::vector<ValueId> gradients(context.inputs(), kNoValue);
    HEADWAY_CHECK(context.inputs() == 3, "moe_dispatch with weights is made by gradients only");
    if (context.needs(0)) {
      gradients[0] = context.graph().add_one(moe_combine_op(), {},
                                             {context.output_gradient(0), context.input(1), context.input(2)});
    }
    return gradients;
  }
};

class MoeCombine final : public Op {
 public:
  std::string_view name() const override { return "moe_combine"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_routing(name(), inputs);
    if (inputs[0].shape[0] != inputs[2].shape[0]) fail_shapes(name(), "y must have a row a choice", inputs);
    return {{inputs[0].dtype, {inputs[1].shape[0], inputs[0].shape[1]}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return column_rule(inputs); }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    Graph& graph = context.graph();
    const ValueId dout = context.output_gradient(0), rows = context.input(1), sources = context.input(2);
    std::vector<ValueId> gradients(context.inputs(), kNoValue);
    if (context.needs(0)) {
      std::vector<ValueId> operands = {dout, rows, sources};
      if (context.inputs() == 4) operands.push_back(context.input(3));
      gradients[0] = graph.add_one(moe_dispatch_op(), {}, std::move(operands));
    }
    if (context.inputs() == 4 && context.needs(3)) {
      gradients[3] = graph.add_one(moe_weight_grad_op(), {}, {dout, context.input(0), rows});
    }
    return gradients;
  }
};

class MoeWeightGrad final : public Op {
 public:
  std::string_view name() const override { return "moe_weight_grad"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 3, 3);
    for (const std::size_t index : {0, 1, 2}) require_rank(name(), inputs, index, 2, 2);
    require_dtype(name(), inputs, 2, DType::kI32);
    const Shape& rows = inputs[2].shape;
    if (inputs[0].shape[0] != rows[0]) fail_shapes(name(), "the gradient must have a row a token", inputs);
    if (inputs[1].shape != Shape{rows.elements(), inputs[0].shape[1]}) {
      fail_shapes(name(), "y must have a row a choice, as long as the gradient's", inputs);
    }
    return {{inputs[0].dtype, rows}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types) const override {
    return {{{0, 1}, {2, 1}, {0, 3}}, {{0, 3}}, {0, 2, 3}};
  }
};

}  // namespace

const Op& moe_route_op() {
  static const MoeRoute op;
  return op;
}

const Op& moe_route_grad_op() {
  static const MoeRouteGrad op;
  return op;
}

const Op& moe_dispatch_op() {
  static const MoeDispatch op;
  return op;
}

const Op& moe_combine_op() {
  static const MoeCombine op;
  return op;
}

const Op& moe_weight_grad_op() {
  static const MoeWeightGrad op;
  return op;
}

MoeRouting moe_route(Graph& graph, ValueId logits, MoeRouteAttributes attributes) {
  const std::vector<ValueId> out = graph.add(moe_route_op(), attributes.to_attributes(), {logits});
  return {out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7], out[8]};
}

ValueId moe_dispatch(Graph& graph, ValueId x, const MoeRouting& routing) {
  return graph.add_one(moe_dispatch_op(), {}, {x, routing.rows, routing.sources});
}

ValueId moe_combine(Graph& graph, ValueId y, const MoeRouting& routing) {
  return graph.add_one(moe_combine_op(), {}, {y, routing.rows, routing.sources, routing.weights});
}

}  // namespace headway::graph
