#include "graph/ops/avg_pool.h"

#include "graph/autodiff.h"

namespace headway::graph {

namespace {

// Batch 0 and channels 3 can be split; space (1, 2 and 4, 5) would need halos.
const std::vector<int> kInputAxes = {0, 1, 2, 3}, kOutputAxes = {0, 4, 5, 3}, kWholeAxes = {1, 2, 4, 5};

class AvgPool2d final : public Op {
 public:
  std::string_view name() const override { return "avg_pool2d"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const Pool2dAttributes attributes = Pool2dAttributes::from(raw);
    return {{inputs[0].dtype, pooled_shape(name(), inputs, attributes)}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types) const override { return {{kInputAxes}, {kOutputAxes}, kWholeAxes}; }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const Pool2dAttributes attributes = Pool2dAttributes::from(context.attributes());
    return {context.graph().add_one(
        avg_pool2d_grad_op(),
        Pool2dGradAttributes{attributes, context.type(context.input(0)).shape.dims()}.to_attributes(),
        {context.output_gradient(0)})};
  }
};

class AvgPool2dGrad final : public Op {
 public:
  std::string_view name() const override { return "avg_pool2d_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const Pool2dGradAttributes attributes = Pool2dGradAttributes::from(raw);
    require_inputs(name(), inputs, 1, 1);
    const Shape x(attributes.shape);
    if (inputs[0].shape != pooled(x, attributes.pool)) {
      fail_shapes(name(), "gradient does not fit the input", inputs);
    }
    return {{inputs[0].dtype, x}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types) const override { return {{kOutputAxes}, {kInputAxes}, kWholeAxes}; }
};

}  // namespace

const Op& avg_pool2d_op() {
  static const AvgPool2d op;
  return op;
}

const Op& avg_pool2d_grad_op() {
  static const AvgPool2dGrad op;
  return op;
}

ValueId avg_pool2d(Graph& graph, ValueId x, Pool2dAttributes attributes) {
  return graph.add_one(avg_pool2d_op(), attributes.to_attributes(), {x});
}

}  // namespace headway::graph
