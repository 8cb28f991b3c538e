#include "graph/ops/conv2d.h"

#include <fmt/core.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/ops/shape_ops.h"

namespace headway::graph {
namespace {

std::int64_t out_size(std::int64_t size, std::int64_t kernel, std::size_t axis, const Conv2dAttributes& attributes) {
  const std::int64_t reach = attributes.dilation[axis] * (kernel - 1) + 1;
  return window_positions(size, reach, attributes.stride[axis], attributes.padding[axis]);
}

// One product of the im2col view: rows = output positions, columns = output channels, inner = input channels x window.
OpCost conv_cost(Types operands, Types outputs, const Shape& w, const Shape& y) {
  OpCost cost = memory_cost(operands, outputs);
  const std::int64_t m = y.rows(), n = w[0], k = w[1] * w[2] * w[3];
  cost.products = {{m, n, k, 1}};
  cost.flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  return cost;
}

// The gradients' third input, which an activation adds.
void require_activated(std::string_view op, Types inputs, const Conv2dAttributes& conv) {
  const bool activated = conv.activation != Activation::kNone;
  require_inputs(op, inputs, activated ? 3 : 2, activated ? 3 : 2);
  if (!activated) return;
  HEADWAY_CHECK(gradient_uses_output(conv.activation), "the gradient of this activation needs its input");
  if (inputs[2] != inputs[0]) fail_shapes(op, "the activation's output and its gradient differ", inputs);
}

// Factors: batch 0, height 1, width 2 (input), in 3, out 4, kernel 5 and 6, height and width of the output 7 and 8.
// Space and window stay whole: splitting them needs halos.
constexpr int kBatch = 0, kIn = 3, kOut = 4;
const std::vector<int> kInputAxes = {kBatch, 1, 2, kIn}, kWeightAxes = {kOut, kIn, 5, 6},
                       kOutputAxes = {kBatch, 7, 8, kOut};
const std::vector<int> kWholeAxes = {1, 2, 5, 6, 7, 8};

}  // namespace

Conv2dAttributes Conv2dAttributes::from(const Attributes& attributes) {
  return {pair_of(attributes, "stride"), paddings_of(attributes, "padding"), pair_of(attributes, "dilation"),
          Activation::from(attributes, "activation")};
}

Attributes Conv2dAttributes::to_attributes() const {
  Attributes attributes{{"stride", to_list(stride)}, {"padding", to_list(padding)}, {"dilation", to_list(dilation)}};
  activation.write(attributes, "activation");
  return attributes;
}

Conv2dGradInputAttributes Conv2dGradInputAttributes::from(const Attributes& attributes) {
  return {Conv2dAttributes::from(attributes), attributes.list("shape")};
}

Attributes Conv2dGradInputAttributes::to_attributes() const {
  Attributes attributes = conv.to_attributes();
  attributes.set("shape", shape);
  return attributes;
}

Conv2dGradWeightAttributes Conv2dGradWeightAttributes::from(const Attributes& attributes) {
  return {Conv2dAttributes::from(attributes), attributes.list("kernel"), attributes.flag("bias")};
}

Attributes Conv2dGradWeightAttributes::to_attributes() const {
  Attributes attributes = conv.to_attributes();
  attributes.set("kernel", kernel);
  attributes.set("bias", bias);
  return attributes;
}

namespace {

class Conv2d final : public Op {
 public:
  std::string_view name() const override { return "conv2d"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const Conv2dAttributes attributes = Conv2dAttributes::from(raw);
    require_inputs(name(), inputs, 2, 3);
    require_rank(name(), inputs, 0, 4, 4);
    require_rank(name(), inputs, 1, 4, 4);
    const Shape& x = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    if (x[3] != w[1]) fail_shapes(name(), "channels of x (last axis) and of w (second axis) differ", inputs);
    if (inputs.size() == 3 && inputs[2].shape != Shape{w[0]}) fail_shapes(name(), "bias must be [out]", inputs);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const Padding padding = attributes.padding[axis];
      if (attributes.stride[axis] < 1 || attributes.dilation[axis] < 1 || padding.before < 0 || padding.after < 0) {
        fail_shapes(name(), "stride and dilation must be positive, padding not negative", inputs);
      }
      const std::int64_t padded = x.dims()[axis + 1] + padding.before + padding.after;
      if (padded < attributes.dilation[axis] * (w.dims()[axis + 2] - 1) + 1) {
        fail_shapes(name(), "the window is larger than the padded input", inputs);
      }
    }
    return {
        {inputs[0].dtype, Shape{x[0], out_size(x[1], w[2], 0, attributes), out_size(x[2], w[3], 1, attributes), w[0]}}};
  }

  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    return conv_cost(inputs, outputs, inputs[1].shape, outputs[0].shape);
  }

  ShardingRule sharding(const Attributes&, Types inputs) const override {
    ShardingRule rule{{kInputAxes, kWeightAxes}, {kOutputAxes}, kWholeAxes};
    // A split of the input channels gives partial sums: right only without bias and activation after the sum.
    rule.whole.push_back(kIn);
    if (inputs.size() == 3) rule.inputs.push_back({kOut});
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const Conv2dAttributes attributes = Conv2dAttributes::from(context.attributes());
    HEADWAY_CHECK(attributes.activation == Activation::kNone, "fusion runs after differentiation");
    Graph& graph = context.graph();
    const ValueId x = context.input(0), w = context.input(1), dy = context.output_gradient(0);
    const Shape weight = context.type(w).shape, input = context.type(x).shape;
    std::vector<ValueId> gradients(context.inputs(), kNoValue);
    if (context.needs(0)) {
      gradients[0] = graph.add_one(conv2d_grad_input_op(),
                                   Conv2dGradInputAttributes{attributes, input.dims()}.to_attributes(), {dy, w});
    }
    const bool bias = context.inputs() == 3;
    if (context.needs(1) || (bias && context.needs(2))) {
      const std::vector<ValueId> results =
          graph.add(conv2d_grad_weight_op(),
                    Conv2dGradWeightAttributes{attributes, {weight[2], weight[3]}, bias}.to_attributes(), {dy, x});
      gradients[1] = results[0];
      if (bias) gradients[2] = results[1];
    }
    return gradients;
  }
};

class Conv2dGradInput final : public Op {
 public:
  std::string_view name() const override { return "conv2d_grad_input"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const Conv2dGradInputAttributes attributes = Conv2dGradInputAttributes::from(raw);
    require_activated(name(), inputs, attributes.conv);
    require_rank(name(), inputs, 0, 4, 4);
    require_rank(name(), inputs, 1, 4, 4);
    const Shape& w = inputs[1].shape;
    const Shape x(attributes.shape);
    const Shape expected{x[0], out_size(x[1], w[2], 0, attributes.conv), out_size(x[2], w[3], 1, attributes.conv),
                         w[0]};
    if (inputs[0].shape != expected || x[3] != w[1]) {
      fail_shapes(name(), "gradient does not fit the input " + headway::to_string(x), inputs);
    }
    return {{inputs[0].dtype, x}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    return conv_cost(inputs, outputs, inputs[1].shape, inputs[0].shape);
  }
  ShardingRule sharding(const Attributes&, Types inputs) const override {
    ShardingRule rule{{kOutputAxes, kWeightAxes}, {kInputAxes}, kWholeAxes};
    if (inputs.size() == 3) rule.inputs.push_back(kOutputAxes);
    return rule;
  }
};

class Conv2dGradWeight final : public Op {
 public:
  std::string_view name() const override { return "conv2d_grad_weight"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const Conv2dGradWeightAttributes attributes = Conv2dGradWeightAttributes::from(raw);
    require_activated(name(), inputs, attributes.conv);
    require_rank(name(), inputs, 0, 4, 4);
    require_rank(name(), inputs, 1, 4, 4);
    const Shape& dy = inputs[0].shape;
    const Shape& x = inputs[1].shape;
    const std::vector<std::int64_t>& kernel = attributes.kernel;
    const Shape expected{x[0], out_size(x[1], kernel[0], 0, attributes.conv),
                         out_size(x[2], kernel[1], 1, attributes.conv), dy[3]};
    if (dy != expected) fail_shapes(name(), "gradient does not fit the input", inputs);
    std::vector<TensorType> types = {{inputs[0].dtype, Shape{dy[3], x[3], kernel[0], kernel[1]}}};
    if (attributes.bias) types.push_back({inputs[0].dtype, Shape{dy[3]}});
    return types;
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    return conv_cost(inputs, outputs, outputs[0].shape, inputs[0].shape);
  }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    ShardingRule rule{{kOutputAxes, kInputAxes}, {kWeightAxes}, kWholeAxes};
    if (inputs.size() == 3) rule.inputs.push_back(kOutputAxes);
    if (Conv2dGradWeightAttributes::from(attributes).bias) rule.outputs.push_back({kOut});
    return rule;
  }
};

}  // namespace

const Op& conv2d_op() {
  static const Conv2d op;
  return op;
}

const Op& conv2d_grad_input_op() {
  static const Conv2dGradInput op;
  return op;
}

const Op& conv2d_grad_weight_op() {
  static const Conv2dGradWeight op;
  return op;
}

ValueId conv2d(Graph& graph, ValueId x, ValueId w, ValueId b, Conv2dAttributes attributes) {
  std::vector<ValueId> inputs = {x, w};
  if (b != kNoValue) inputs.push_back(b);
  return graph.add_one(conv2d_op(), attributes.to_attributes(), std::move(inputs));
}

ValueId conv1d(Graph& graph, ValueId x, ValueId w, ValueId b, const Conv1dAttributes& attributes) {
  const TensorType input = graph.value(x).type, weight = graph.value(w).type;
  require_rank("conv1d", std::array{input, weight}, 0, 3, 3);
  require_rank("conv1d", std::array{input, weight}, 1, 3, 3);
  x = reshape(graph, x, {input.shape[0], 1, input.shape[1], input.shape[2]});
  w = reshape(graph, w, {weight.shape[0], weight.shape[1], 1, weight.shape[2]});
  const ValueId y =
      conv2d(graph, x, w, b, {{1, attributes.stride}, {Padding(), attributes.padding}, {1, attributes.dilation}, {}});
  const Shape shape = graph.value(y).type.shape;
  return reshape(graph, y, {shape[0], shape[2], shape[3]});
}

}  // namespace headway::graph
