#include "graph/ops/layernorm.h"

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {

LayerNormAttributes LayerNormAttributes::from(const Attributes& attributes) {
  return {attributes.number("eps"), Activation::from(attributes, "activation"), attributes.flag("residual")};
}

Attributes LayerNormAttributes::to_attributes() const {
  Attributes attributes{{"eps", eps}, {"residual", residual}};
  activation.write(attributes, "activation");
  return attributes;
}

LayerNormGradAttributes LayerNormGradAttributes::from(const Attributes& attributes) {
  return {Activation::from(attributes, "activation"), attributes.flag("extra")};
}

Attributes LayerNormGradAttributes::to_attributes() const {
  Attributes attributes{{"extra", extra}};
  activation.write(attributes, "activation");
  return attributes;
}

namespace {

// Factors of x: its leading axes 0..r-2, then the normalised axis, which stays whole.
struct RowFactors {
  std::vector<int> full, rows;
  int last = 0;

  explicit RowFactors(const Shape& shape) {
    for (int axis = 0; axis + 1 < static_cast<int>(shape.rank()); ++axis) rows.push_back(axis);
    last = static_cast<int>(rows.size());
    full = rows;
    full.push_back(last);
  }
};

Shape without_last(const Shape& shape) {
  return Shape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
}

class LayerNorm final : public Op {
 public:
  std::string_view name() const override { return "layernorm"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const LayerNormAttributes attributes = LayerNormAttributes::from(raw);
    require_inputs(name(), inputs, attributes.residual ? 4 : 3, attributes.residual ? 4 : 3);
    require_rank(name(), inputs, 0, 1, 8);
    const Shape& x = inputs[0].shape;
    const Shape weight{x[-1]};
    if (inputs[1].shape != weight || inputs[2].shape != weight) {
      fail_shapes(name(), "gamma and beta must be [last axis of x]", inputs);
    }
    if (attributes.residual && inputs[3] != inputs[0]) fail_shapes(name(), "residual must be like x", inputs);
    const TensorType rows{DType::kF32, without_last(x)};
    std::vector<TensorType> types = {inputs[0], rows, rows};
    if (attributes.residual) types.push_back(inputs[0]);
    return types;
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    const RowFactors factors(inputs[0].shape);
    ShardingRule rule{
        {factors.full, {factors.last}, {factors.last}}, {factors.full, factors.rows, factors.rows}, {factors.last}};
    if (LayerNormAttributes::from(attributes).residual) {
      rule.inputs.push_back(factors.full);
      rule.outputs.push_back(factors.full);
    }
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const LayerNormAttributes attributes = LayerNormAttributes::from(context.attributes());
    HEADWAY_CHECK(attributes.activation == Activation::kNone && !attributes.residual,
                  "fusion runs after differentiation");
    const std::vector<ValueId> results =
        context.graph().add(layernorm_grad_op(), LayerNormGradAttributes{}.to_attributes(),
                            {context.output_gradient(0), context.input(0), context.output(1), context.output(2),
                             context.input(1), context.input(2)});
    return results;
  }
};

class LayerNormGrad final : public Op {
 public:
  std::string_view name() const override { return "layernorm_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const bool extra = LayerNormGradAttributes::from(raw).extra;
    require_inputs(name(), inputs, extra ? 7 : 6, extra ? 7 : 6);
    require_rank(name(), inputs, 1, 1, 8);
    const Shape& x = inputs[1].shape;
    if (inputs[0] != inputs[1] || (extra && inputs[6] != inputs[1]))
      fail_shapes(name(), "gradients must be like x", inputs);
    if (inputs[2].shape != without_last(x) || inputs[3].shape != without_last(x)) {
      fail_shapes(name(), "mean and rstd must be one a row", inputs);
    }
    if (inputs[4].shape != Shape{x[-1]} || inputs[5].shape != Shape{x[-1]}) {
      fail_shapes(name(), "gamma and beta must be [last axis of x]", inputs);
    }
    return {inputs[1], inputs[4], inputs[5]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    const RowFactors factors(inputs[1].shape);
    ShardingRule rule{{factors.full, factors.full, factors.rows, factors.rows, {factors.last}, {factors.last}},
                      {factors.full, {factors.last}, {factors.last}},
                      {factors.last}};
    if (LayerNormGradAttributes::from(attributes).extra) rule.inputs.push_back(factors.full);
    return rule;
  }
};

}  // namespace

const Op& layernorm_op() {
  static const LayerNorm op;
  return op;
}

const Op& layernorm_grad_op() {
  static const LayerNormGrad op;
  return op;
}

ValueId layernorm(Graph& graph, ValueId x, ValueId gamma, ValueId beta, double eps) {
  return graph.add_one(layernorm_op(), LayerNormAttributes{eps, Activation::kNone, false}.to_attributes(),
                       {x, gamma, beta});
}

}  // namespace headway::graph
