#include "graph/ops/batchnorm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {

BatchNormAttributes BatchNormAttributes::from(const Attributes& attributes) {
  return {attributes.number("eps"), attributes.number("momentum"), Activation::from(attributes, "activation"),
          attributes.flag("evaluation")};
}

Attributes BatchNormAttributes::to_attributes() const {
  Attributes attributes{{"eps", eps}, {"momentum", momentum}, {"evaluation", evaluation}};
  activation.write(attributes, "activation");
  return attributes;
}

BatchNormGradAttributes BatchNormGradAttributes::from(const Attributes& attributes) {
  return {Activation::from(attributes, "activation"), Activation::from(attributes, "before")};
}

Attributes BatchNormGradAttributes::to_attributes() const {
  Attributes attributes;
  activation.write(attributes, "activation");
  before.write(attributes, "before");
  return attributes;
}

namespace {

// Factors of x: its leading axes, then the channels. `whole` are the leading axes: a part of the rows has other
// statistics than all of them.
struct ChannelFactors {
  std::vector<int> full, rows, channel;

  explicit ChannelFactors(const Shape& shape) {
    for (int axis = 0; axis + 1 < static_cast<int>(shape.rank()); ++axis) rows.push_back(axis);
    channel = {static_cast<int>(rows.size())};
    full = rows;
    full.push_back(channel[0]);
  }
};

void require_channels(std::string_view op, Types inputs, std::size_t x, std::size_t first) {
  require_rank(op, inputs, x, 1, 8);
  for (std::size_t index = first; index < inputs.size(); ++index) {
    if (inputs[index].shape == Shape{inputs[x].shape[-1]}) continue;
    fail_shapes(op, fmt::format("operand {} must be one a channel, [last axis of x]", index), inputs);
  }
}

void require_rows(std::string_view op, Types inputs, std::size_t x) {
  if (inputs[x].shape.rows() >= 2 || inputs[x].shape[-1] == 0) return;
  fail_shapes(op, "training needs two values a channel or more", inputs);
}

class BatchNorm final : public Op {
 public:
  std::string_view name() const override { return "batchnorm"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 5, 5);
    require_channels(name(), inputs, 0, 1);
    if (BatchNormAttributes::from(attributes).evaluation) return {inputs[0]};
    require_rows(name(), inputs, 0);
    const TensorType statistic{DType::kF32, inputs[1].shape};
    return {inputs[0], statistic, statistic, inputs[3], inputs[4]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    const ChannelFactors factors(inputs[0].shape);
    const std::vector<int>& channel = factors.channel;
    if (BatchNormAttributes::from(attributes).evaluation) {
      return {{factors.full, channel, channel, channel, channel}, {factors.full}, {}};
    }
    return {{factors.full, channel, channel, channel, channel},
            {factors.full, channel, channel, channel, channel},
            factors.rows};
  }

  std::vector<Alias> aliases(const Attributes& attributes, std::int64_t) const override {
    if (BatchNormAttributes::from(attributes).evaluation) return {};
    return {{3, 3}, {4, 4}};
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const BatchNormAttributes attributes = BatchNormAttributes::from(context.attributes());
    HEADWAY_CHECK(attributes.activation == Activation::kNone, "fusion runs after differentiation");
    HEADWAY_CHECK(!attributes.evaluation, "batchnorm: an evaluation is not differentiated");
    std::vector<ValueId> results = context.graph().add(batchnorm_grad_op(), BatchNormGradAttributes{}.to_attributes(),
                                                       {context.output_gradient(0), context.input(0), context.output(1),
                                                        context.output(2), context.input(1), context.input(2)});
    results.resize(5, kNoValue);
    return results;
  }
};

class BatchNormGrad final : public Op {
 public:
  std::string_view name() const override { return "batchnorm_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 6, 6);
    require_channels(name(), inputs, 1, 2);
    require_rows(name(), inputs, 1);
    if (inputs[0] != inputs[1]) fail_shapes(name(), "gradient must be like x", inputs);
    const Activation before = BatchNormGradAttributes::from(raw).before;
    if (before != Activation::kNone && !gradient_uses_output(before)) {
      fail_shapes(name(), fmt::format("the gradient of {} is not computed from its output", name_of(before)), inputs);
    }
    if (before != Activation::kNone && BatchNormGradAttributes::from(raw).activation != Activation::kNone) {
      fail_shapes(name(), "an activation before and one after", inputs);
    }
    return {inputs[1], inputs[4], inputs[5]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes&, Types inputs) const override {
    const ChannelFactors factors(inputs[1].shape);
    const std::vector<int>& channel = factors.channel;
    return {{factors.full, factors.full, channel, channel, channel, channel},
            {factors.full, channel, channel},
            factors.rows};
  }
};

}  // namespace

const Op& batchnorm_op() {
  static const BatchNorm op;
  return op;
}

const Op& batchnorm_grad_op() {
  static const BatchNormGrad op;
  return op;
}

ValueId batchnorm(Graph& graph, ValueId x, ValueId gamma, ValueId beta, ValueId running_mean, ValueId running_variance,
                  bool training, double eps, double momentum) {
  return graph.add_one(batchnorm_op(), BatchNormAttributes{eps, momentum, Activation::kNone, !training}.to_attributes(),
                       {x, gamma, beta, running_mean, running_variance});
}

}  // namespace headway::graph
