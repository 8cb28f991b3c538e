#include "graph/ops/activation.h"

#include <fmt/core.h>

#include <array>

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {
namespace {

// In the order of Activation::Kind.
constexpr std::array<std::string_view, 8> kNames = {"none",      "relu", "leaky_relu", "gelu_erf",
                                                    "gelu_tanh", "silu", "tanh",       "sigmoid"};

void require_slope(std::string_view op, Activation activation, Types inputs) {
  if (activation.slope >= 0) return;
  fail_shapes(op, fmt::format("the slope of leaky_relu must be 0 or more, not {}", activation.slope), inputs);
}

}  // namespace

std::string_view name_of(Activation activation) {
  return kNames[activation.kind];
}

Activation activation_from_name(std::string_view name) {
  for (std::size_t index = 0; index < kNames.size(); ++index) {
    if (kNames[index] == name) return static_cast<Activation::Kind>(index);
  }
  throw InternalError(fmt::format("no activation '{}'", name));
}

bool gradient_uses_output(Activation activation) {
  return activation.kind == Activation::kRelu || activation.kind == Activation::kLeakyRelu ||
         activation.kind == Activation::kTanh || activation.kind == Activation::kSigmoid;
}

Activation Activation::from(const Attributes& attributes, std::string_view name) {
  Activation activation = activation_from_name(attributes.text(name));
  if (activation.kind == kLeakyRelu) activation.slope = attributes.number(std::string(name) + "_slope");
  return activation;
}

void Activation::write(Attributes& attributes, const std::string& name) const {
  attributes.set(name, std::string(name_of(*this)));
  if (kind == kLeakyRelu) attributes.set(name + "_slope", slope);
}

ActivationAttributes ActivationAttributes::from(const Attributes& attributes) {
  return {Activation::from(attributes, "kind")};
}

Attributes ActivationAttributes::to_attributes() const {
  Attributes attributes;
  kind.write(attributes, "kind");
  return attributes;
}

ActivationGradAttributes ActivationGradAttributes::from(const Attributes& attributes) {
  return {Activation::from(attributes, "kind"), attributes.flag("bias_grad")};
}

Attributes ActivationGradAttributes::to_attributes() const {
  Attributes attributes{{"bias_grad", bias_grad}};
  kind.write(attributes, "kind");
  return attributes;
}

namespace {

class ActivationOp final : public Op {
 public:
  std::string_view name() const override { return "activation"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    require_slope(name(), ActivationAttributes::from(attributes).kind, inputs);
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
