#include "graph/ops/dropout.h"

#include <fmt/core.h>

#include "graph/autodiff.h"

namespace headway::graph {

DropoutAttributes DropoutAttributes::from(const Attributes& attributes) {
  return {attributes.number("p"), attributes.integer("stream")};
}

Attributes DropoutAttributes::to_attributes() const {
  return {{"p", p}, {"stream", stream}};
}

namespace {

class Dropout final : public Op {
 public:
  std::string_view name() const override { return "dropout"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    require_rank(name(), inputs, 0, 1, 8);
    require_dtype(name(), inputs, 1, DType::kI64);
    const double p = DropoutAttributes::from(attributes).p;
    if (!(p >= 0 && p < 1)) fail_shapes(name(), fmt::format("p is {}, it must be in [0, 1)", p), inputs);
    if (inputs[1].shape != Shape{4}) fail_shapes(name(), "position must be i64[4]", inputs);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override {
    // Elements are counted over the global batch, so only the batch (whose offset is in position) may be split.
    ShardingRule rule = pointwise_rule(inputs.first(1), 1);
    rule.whole.assign(rule.inputs[0].begin() + 1, rule.inputs[0].end());
    const int position = static_cast<int>(inputs[0].shape.rank());
    rule.inputs.push_back({position});
    rule.whole.push_back(position);
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {context.graph().add_one(dropout_op(), context.attributes(), {context.output_gradient(0), context.input(1)}),
            kNoValue};
  }
};

}  // namespace

const Op& dropout_op() {
  static const Dropout op;
  return op;
}

ValueId position_input(Graph& graph) {
  const ValueId known = graph.find("position");
  return known != kNoValue ? known : graph.add_input("position", {DType::kI64, Shape{4}});
}

ValueId dropout(Graph& graph, ValueId x, DropoutAttributes attributes) {
  return graph.add_one(dropout_op(), attributes.to_attributes(), {x, position_input(graph)});
}

}  // namespace headway::graph
