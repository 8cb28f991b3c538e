#include "graph/ops/swiglu.h"

#include <algorithm>

#include "graph/autodiff.h"

namespace headway::graph {
namespace {

void require_equal(std::string_view op, Types inputs, std::size_t count) {
  require_inputs(op, inputs, count, count);
  if (std::any_of(inputs.begin(), inputs.end(), [&](const TensorType& type) { return type != inputs[0]; })) {
    fail_shapes(op, "operands must be alike", inputs);
  }
}

class Swiglu final : public Op {
 public:
  std::string_view name() const override { return "swiglu"; }
  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_equal(name(), inputs, 2);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return pointwise_rule(inputs, 1); }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    return context.graph().add(swiglu_grad_op(), {}, {context.output_gradient(0), context.input(0), context.input(1)});
  }
};

class SwigluGrad final : public Op {
 public:
  std::string_view name() const override { return "swiglu_grad"; }
  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_equal(name(), inputs, 3);
    return {inputs[0], inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return pointwise_rule(inputs, 2); }
};

}  // namespace

const Op& swiglu_op() {
  static const Swiglu op;
  return op;
}

const Op& swiglu_grad_op() {
  static const SwigluGrad op;
  return op;
}

ValueId swiglu(Graph& graph, ValueId gate, ValueId up) {
  return graph.add_one(swiglu_op(), {}, {gate, up});
}

}  // namespace headway::graph
