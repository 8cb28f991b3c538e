#include "graph/ops/pool.h"

#include "graph/autodiff.h"

namespace headway::graph {

namespace {

// Batch 0 and channels 3 can be split; space (1, 2 and 4, 5) would need halos.
const std::vector<int> kInputAxes = {0, 1, 2, 3}, kOutputAxes = {0, 4, 5, 3}, kWholeAxes = {1, 2, 4, 5};

class MaxPool2d final : public Op {
 public:
  std::string_view name() const override { return "max_pool2d"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const Pool2dAttributes attributes = Pool2dAttributes::from(raw);
    const Shape y = pooled_shape(name(), inputs, attributes);
    if (attributes.kernel[0] * attributes.kernel[1] > 256) {
      fail_shapes(name(), "a window of more than 256 positions", inputs);
    }
    return {{inputs[0].dtype, y}, {DType::kU8, y}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types) const override {
    return {{kInputAxes}, {kOutputAxes, kOutputAxes}, kWholeAxes};
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const Pool2dAttributes attributes = Pool2dAttributes::from(context.attributes());
    return {context.graph().add_one(
        max_pool2d_grad_op(),
        Pool2dGradAttributes{attributes, context.type(context.input(0)).shape.dims()}.to_attributes(),
        {context.output_gradient(0), context.output(1)})};
  }
};

class MaxPool2dGrad final : public Op {
 public:
  std::string_view name() const override { return "max_pool2d_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const Pool2dGradAttributes attributes = Pool2dGradAttributes::from(raw);
    require_inputs(name(), inputs, 2, 2);
    require_dtype(name(), inputs, 1, DType::kU8);
    const Shape x(attributes.shape);
    const Shape y = pooled(x, attributes.pool);
    if (inputs[0].shape != y || inputs[1].shape != y) fail_shapes(name(), "gradient does not fit the input", inputs);
    return {{inputs[0].dtype, x}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types) const override {
    return {{kOutputAxes, kOutputAxes}, {kInputAxes}, kWholeAxes};
  }
};

}  // namespace

const Op& max_pool2d_op() {
  static const MaxPool2d op;
  return op;
}

const Op& max_pool2d_grad_op() {
  static const MaxPool2dGrad op;
  return op;
}

ValueId max_pool2d(Graph& graph, ValueId x, Pool2dAttributes attributes) {
  return graph.add_one(max_pool2d_op(), attributes.to_attributes(), {x});
}

}  // namespace headway::graph
