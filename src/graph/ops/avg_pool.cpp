#include "graph/ops/avg_pool.h"

#include "graph/autodiff.h"

namespace headway::graph {

AvgPool2dAttributes AvgPool2dAttributes::from(const Attributes& attributes) {
  const std::vector<std::int64_t>& kernel = attributes.list("kernel");
  const std::vector<std::int64_t>& stride = attributes.list("stride");
  return {{kernel.at(0), kernel.at(1)}, {stride.at(0), stride.at(1)}};
}

Attributes AvgPool2dAttributes::to_attributes() const {
  return {{"kernel", std::vector<std::int64_t>(kernel.begin(), kernel.end())},
          {"stride", std::vector<std::int64_t>(stride.begin(), stride.end())}};
}

AvgPool2dGradAttributes AvgPool2dGradAttributes::from(const Attributes& attributes) {
  return {AvgPool2dAttributes::from(attributes), attributes.list("shape")};
}

Attributes AvgPool2dGradAttributes::to_attributes() const {
  Attributes attributes = pool.to_attributes();
  attributes.set("shape", shape);
  return attributes;
}

namespace {

Shape pooled(const Shape& x, const AvgPool2dAttributes& attributes) {
  return Shape{x[0], (x[1] - attributes.kernel[0]) / attributes.stride[0] + 1,
               (x[2] - attributes.kernel[1]) / attributes.stride[1] + 1, x[3]};
}

// Batch 0 and channels 3 can be split; space (1, 2 and 4, 5) would need halos.
const std::vector<int> kInputAxes = {0, 1, 2, 3}, kOutputAxes = {0, 4, 5, 3}, kWholeAxes = {1, 2, 4, 5};

class AvgPool2d final : public Op {
 public:
  std::string_view name() const override { return "avg_pool2d"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const AvgPool2dAttributes attributes = AvgPool2dAttributes::from(raw);
    require_inputs(name(), inputs, 1, 1);
    require_rank(name(), inputs, 0, 4, 4);
    const Shape& x = inputs[0].shape;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (attributes.kernel[axis] < 1 || attributes.stride[axis] < 1) {
        fail_shapes(name(), "window and stride must be positive", inputs);
      }
      if (x.dims()[axis + 1] < attributes.kernel[axis]) {
        fail_shapes(name(), "the window is larger than the input", inputs);
      }
    }
    return {{inputs[0].dtype, pooled(x, attributes)}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types) const override { return {{kInputAxes}, {kOutputAxes}, kWholeAxes}; }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const AvgPool2dAttributes attributes = AvgPool2dAttributes::from(context.attributes());
    return {context.graph().add_one(
        avg_pool2d_grad_op(),
        AvgPool2dGradAttributes{attributes, context.type(context.input(0)).shape.dims()}.to_attributes(),
        {context.output_gradient(0)})};
  }
};

class AvgPool2dGrad final : public Op {
 public:
  std::string_view name() const override { return "avg_pool2d_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const AvgPool2dGradAttributes attributes = AvgPool2dGradAttributes::from(raw);
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

ValueId avg_pool2d(Graph& graph, ValueId x, AvgPool2dAttributes attributes) {
  return graph.add_one(avg_pool2d_op(), attributes.to_attributes(), {x});
}

}  // namespace headway::graph
