#include "graph/ops/rotary.h"

#include "graph/autodiff.h"

namespace headway::graph {

RotaryAttributes RotaryAttributes::from(const Attributes& attributes) {
  return {attributes.integer("heads"), attributes.integer("head_size"), attributes.number("theta"),
          attributes.flag("inverse")};
}

Attributes RotaryAttributes::to_attributes() const {
  return {{"heads", heads}, {"head_size", head_size}, {"theta", theta}, {"inverse", inverse}};
}

namespace {

class Rotary final : public Op {
 public:
  std::string_view name() const override { return "rotary"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    require_rank(name(), inputs, 0, 3, 3);
    const RotaryAttributes attributes = RotaryAttributes::from(raw);
    if (attributes.head_size < 2 || attributes.head_size % 2 != 0) {
      fail_shapes(name(), "channels come in pairs: the size of a head must be even", inputs);
    }
    if (attributes.heads < 1 || attributes.heads * attributes.head_size > inputs[0].shape[2]) {
      fail_shapes(name(), "the last axis is shorter than the heads to rotate", inputs);
    }
    if (!(attributes.theta > 0)) fail_shapes(name(), "theta must be positive", inputs);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  // Positions count from the start of the sequence, and heads lie before what is copied: only the batch is split.
  ShardingRule sharding(const Attributes&, Types inputs) const override {
    ShardingRule rule = pointwise_rule(inputs, 1);
    rule.whole = {rule.inputs[0][1], rule.inputs[0][2]};
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    RotaryAttributes attributes = RotaryAttributes::from(context.attributes());
    attributes.inverse = !attributes.inverse;
    return {rotary(context.graph(), context.output_gradient(0), attributes)};
  }
};

}  // namespace

const Op& rotary_op() {
  static const Rotary op;
  return op;
}

ValueId rotary(Graph& graph, ValueId x, RotaryAttributes attributes) {
  return graph.add_one(rotary_op(), attributes.to_attributes(), {x});
}

}  // namespace headway::graph
