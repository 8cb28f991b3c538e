#include "graph/ops/softmax.h"

#include "graph/autodiff.h"

namespace headway::graph {
namespace {

ShardingRule rowwise_rule(Types inputs) {
  ShardingRule rule = pointwise_rule(inputs, 1);
  rule.whole.push_back(rule.outputs[0].back());
  return rule;
}

class Softmax final : public Op {
 public:
  std::string_view name() const override { return "softmax"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    require_rank(name(), inputs, 0, 1, 8);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return rowwise_rule(inputs); }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {context.graph().add_one(softmax_grad_op(), {}, {context.output_gradient(0), context.output(0)})};
  }
};

class SoftmaxGrad final : public Op {
 public:
  std::string_view name() const override { return "softmax_grad"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    require_rank(name(), inputs, 0, 1, 8);
    if (inputs[0] != inputs[1]) fail_shapes(name(), "gradient and output differ", inputs);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return rowwise_rule(inputs); }
};

}  // namespace

const Op& softmax_op() {
  static const Softmax op;
  return op;
}

const Op& softmax_grad_op() {
  static const SoftmaxGrad op;
  return op;
}

ValueId softmax(Graph& graph, ValueId x) {
  return graph.add_one(softmax_op(), {}, {x});
}

}  // namespace headway::graph
