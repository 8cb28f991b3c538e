#include "graph/ops/rmsnorm.h"

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {

RmsNormAttributes RmsNormAttributes::from(const Attributes& attributes) {
  return {attributes.number("eps"), attributes.flag("residual")};
}
Attributes RmsNormAttributes::to_attributes() const {
  return {{"eps", eps}, {"residual", residual}};
}

RmsNormGradAttributes RmsNormGradAttributes::from(const Attributes& attributes) {
  return {attributes.flag("extra")};
}
Attributes RmsNormGradAttributes::to_attributes() const {
  return {{"extra", extra}};
}

namespace {

Shape without_last(const Shape& shape) {
  return Shape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
}

// Factors of x: one for each axis; the last, which is normalised, stays whole.
std::vector<int> factors_of(const Shape& shape) {
  std::vector<int> factors;
  for (int axis = 0; axis < static_cast<int>(shape.rank()); ++axis) factors.push_back(axis);
  return factors;
}

class RmsNorm final : public Op {
 public:
  std::string_view name() const override { return "rmsnorm"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const bool residual = RmsNormAttributes::from(raw).residual;
    require_inputs(name(), inputs, residual ? 3 : 2, residual ? 3 : 2);
    require_rank(name(), inputs, 0, 1, 8);
    const Shape& x = inputs[0].shape;
    if (inputs[1].shape != Shape{x[-1]}) fail_shapes(name(), "gamma must be [last axis of x]", inputs);
    if (residual && inputs[2] != inputs[0]) fail_shapes(name(), "residual must be like x", inputs);
    std::vector<TensorType> types = {inputs[0], {DType::kF32, without_last(x)}};
    if (residual) types.push_back(inputs[0]);
    return types;
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    const std::vector<int> full = factors_of(inputs[0].shape), rows(full.begin(), full.end() - 1);
    ShardingRule rule{{full, {full.back()}}, {full, rows}, {full.back()}};
    if (RmsNormAttributes::from(attributes).residual) {
      rule.inputs.push_back(full);
      rule.outputs.push_back(full);
    }
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    HEADWAY_CHECK(!RmsNormAttributes::from(context.attributes()).residual, "fusion runs after differentiation");
    return context.graph().add(rmsnorm_grad_op(), RmsNormGradAttributes{}.to_attributes(),
                               {context.output_gradient(0), context.input(0), context.output(1), context.input(1)});
  }
};

class RmsNormGrad final : public Op {
 public:
  std::string_view name() const override { return "rmsnorm_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const bool extra = RmsNormGradAttributes::from(raw).extra;
    require_inputs(name(), inputs, extra ? 5 : 4, extra ? 5 : 4);
    require_rank(name(), inputs, 1, 1, 8);
    const Shape& x = inputs[1].shape;
    if (inputs[0] != inputs[1] || (extra && inputs[4] != inputs[1])) {
      fail_shapes(name(), "gradients must be like x", inputs);
    }
    if (inputs[2].shape != without_last(x)) fail_shapes(name(), "rstd must be one a row", inputs);
    if (inputs[3].shape != Shape{x[-1]}) fail_shapes(name(), "gamma must be [last axis of x]", inputs);
    return {inputs[1], inputs[3]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    const std::vector<int> full = factors_of(inputs[1].shape), rows(full.begin(), full.end() - 1);
    ShardingRule rule{{full, full, rows, {full.back()}}, {full, {full.back()}}, {full.back()}};
    if (RmsNormGradAttributes::from(attributes).extra) rule.inputs.push_back(full);
    return rule;
  }
};

}  // namespace

const Op& rmsnorm_op() {
  static const RmsNorm op;
  return op;
}

const Op& rmsnorm_grad_op() {
  static const RmsNormGrad op;
  return op;
}

ValueId rmsnorm(Graph& graph, ValueId x, ValueId gamma, double eps) {
  return graph.add_one(rmsnorm_op(), RmsNormAttributes{eps, false}.to_attributes(), {x, gamma});
}

}  // namespace headway::graph
