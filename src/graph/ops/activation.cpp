#include "graph/ops/activation.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"none", "relu", "gelu_erf", "gelu_tanh"};

}  // namespace

std::string_view name_of(Activation activation) {
  return kNames[static_cast<std::size_t>(activation)];
}

Activation activation_from_name(std::string_view name) {
  for (std::size_t index = 0; index < kNames.size(); ++index) {
    if (kNames[index] == name) return static_cast<Activation>(index);
  }
  throw InternalError(fmt::format("no activation '{}'", name));
}

bool gradient_uses_output(Activation activation) {
  return activation == Activation::kRelu;
}

ActivationAttributes ActivationAttributes::from(const Attributes& attributes) {
  return {activation_from_name(attributes.text("kind"))};
}

Attributes ActivationAttributes::to_attributes() const {
  return {{"kind", std::string(name_of(kind))}};
}

ActivationGradAttributes ActivationGradAttributes::from(const Attributes& attributes) {
  return {activation_from_name(attributes.text("kind")), attributes.flag("bias_grad")};
}

Attributes ActivationGradAttributes::to_attributes() const {
  return {{"kind", std::string(name_of(kind))}, {"bias_grad", bias_grad}};
}

namespace {

class ActivationOp final : public Op {
 public:
  std::string_view name() const override { return "activation"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return pointwise_rule(inputs, 1); }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const Activation kind = ActivationAttributes::from(context.attributes()).kind;
    const ValueId saved = gradient_uses_output(kind) ? context.output(0) : context.input(0);
    return {context.graph().add_one(activation_grad_op(), ActivationGradAttributes{kind, false}.to_attributes(),
                                    {context.output_gradient(0), saved})};
  }
};

class ActivationGradOp final : public Op {
 public:
  std::string_view name() const override { return "activation_grad"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    if (inputs[0] != inputs[1]) fail_shapes(name(), "gradient and saved value differ", inputs);
    if (!ActivationGradAttributes::from(attributes).bias_grad) return {inputs[0]};
    require_rank(name(), inputs, 0, 1, 8);
    return {inputs[0], {inputs[0].dtype, Shape{inputs[0].shape[-1]}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    ShardingRule rule = pointwise_rule(inputs, 1);
    if (ActivationGradAttributes::from(attributes).bias_grad) rule.outputs.push_back({rule.outputs[0].back()});
    return rule;
  }
};

}  // namespace

const Op& activation_op() {
  static const ActivationOp op;
  return op;
}

const Op& activation_grad_op() {
  static const ActivationGradOp op;
  return op;
}

ValueId activation(Graph& graph, ValueId x, Activation kind) {
  return graph.add_one(activation_op(), ActivationAttributes{kind}.to_attributes(), {x});
}

}  // namespace headway::graph
