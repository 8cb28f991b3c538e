#include "graph/ops/grouped_linear.h"

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {

GroupedLinearGradWeightAttributes GroupedLinearGradWeightAttributes::from(const Attributes& attributes) {
  return {attributes.flag("bias")};
}

Attributes GroupedLinearGradWeightAttributes::to_attributes() const {
  return {{"bias", bias}};
}

namespace {

void require_offsets(std::string_view op, Types inputs, std::int64_t groups) {
  require_dtype(op, inputs, 2, DType::kI32);
  if (inputs[2].shape != Shape{groups + 1}) fail_shapes(op, "offsets must be [groups + 1]", inputs);
}

class GroupedLinear final : public Op {
 public:
  std::string_view name() const override { return "grouped_linear"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 3, 4);
    require_rank(name(), inputs, 0, 2, 2);
    require_rank(name(), inputs, 1, 3, 3);
    const Shape& x = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    require_offsets(name(), inputs, w[0]);
    if (x[1] != w[2]) fail_shapes(name(), "last axis of x and of w differ", inputs);
    if (inputs.size() == 4 && inputs[3].shape != Shape{w[0], w[1]})
      fail_shapes(name(), "bias must be [groups, n]", inputs);
    const TensorType y{inputs[0].dtype, {x[0], w[1]}};
    return LinearAttributes::from(attributes).keep_pre ? std::vector{y, y} : std::vector{y};
  }

  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    const Shape& w = inputs[1].shape;
    OpCost cost = memory_cost(inputs, outputs);
    const std::int64_t rows = inputs[0].shape[0];
    cost.products = {{rows, w[1], w[2], 1}};  // as if every row had a group
    cost.flops = Flops(2.0 * static_cast<double>(rows) * static_cast<double>(w[1]) * static_cast<double>(w[2]));
    return cost;
  }

  // Rows belong to groups that only the data knows; the columns of y can be split, and k where nothing follows the sum.
  ShardingRule sharding(const Attributes& raw, Types inputs) const override {
    const LinearAttributes attributes = LinearAttributes::from(raw);
    const int rows = 0, n = 1, k = 2, groups = 3, offsets = 4;
    ShardingRule rule{{{rows, k}, {groups, n, k}, {offsets}}, {{rows, n}}, {rows, groups, offsets}};
    if (inputs.size() == 4) rule.inputs.push_back({groups, n});
    if (inputs.size() == 4 || attributes.activation != Activation::kNone) rule.whole.push_back(k);
    if (attributes.keep_pre) rule.outputs.push_back({rows, n});
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    HEADWAY_CHECK(LinearAttributes::from(context.attributes()).activation == Activation::kNone,
                  "fusion runs after differentiation");
    Graph& graph = context.graph();
    const ValueId dy = context.output_gradient(0), offsets = context.input(2);
    std::vector<ValueId> gradients(context.inputs(), kNoValue);
    if (context.needs(0)) {
      gradients[0] = graph.add_one(grouped_linear_grad_input_op(), {}, {dy, context.input(1), offsets});
    }
    const bool bias = context.inputs() == 4 && context.needs(3);
    if (context.needs(1) || bias) {
      const std::vector<ValueId> out =
          graph.add(grouped_linear_grad_weight_op(), GroupedLinearGradWeightAttributes{bias}.to_attributes(),
                    {dy, context.input(0), offsets});
      gradients[1] = out[0];
      if (bias) gradients[3] = out[1];
    }
    return gradients;
  }
};

class GroupedLinearGradInput final : public Op {
 public:
  std::string_view name() const override { return "grouped_linear_grad_input"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 3, 3);
    require_rank(name(), inputs, 0, 2, 2);
    require_rank(name(), inputs, 1, 3, 3);
    const Shape& dy = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    require_offsets(name(), inputs, w[0]);
    if (dy[1] != w[1]) fail_shapes(name(), "the gradient does not fit w", inputs);
    return {{inputs[0].dtype, {dy[0], w[2]}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    const Shape& w = inputs[1].shape;
    OpCost cost = memory_cost(inputs, outputs);
    const std::int64_t rows = inputs[0].shape[0];
    cost.products = {{rows, w[2], w[1], 1}};
    cost.flops = Flops(2.0 * static_cast<double>(rows) * static_cast<double>(w[1]) * static_cast<double>(w[2]));
    return cost;
  }
  ShardingRule sharding(const Attributes&, Types) const override {
    const int rows = 0, n = 1, k = 2, groups = 3, offsets = 4;
    return {{{rows, n}, {groups, n, k}, {offsets}}, {{rows, k}}, {rows, groups, offsets}};
  }
};

class GroupedLinearGradWeight final : public Op {
 public:
  std::string_view name() const override { return "grouped_linear_grad_weight"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 3, 3);
    require_rank(name(), inputs, 0, 2, 2);
    require_rank(name(), inputs, 1, 2, 2);
    require_rank(name(), inputs, 2, 1, 1);
    const Shape& dy = inputs[0].shape;
    const Shape& x = inputs[1].shape;
    const std::int64_t groups = inputs[2].shape[0] - 1;
    if (dy[0] != x[0]) fail_shapes(name(), "numbers of rows differ", inputs);
    if (groups < 0) fail_shapes(name(), "offsets must be [groups + 1]", inputs);
    require_offsets(name(), inputs, groups);
    std::vector<TensorType> types = {{inputs[0].dtype, {groups, dy[1], x[1]}}};
    if (GroupedLinearGradWeightAttributes::from(attributes).bias) types.push_back({inputs[0].dtype, {groups, dy[1]}});
    return types;
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    const std::int64_t rows = inputs[0].shape[0], n = inputs[0].shape[1], k = inputs[1].shape[1];
    OpCost cost = memory_cost(inputs, outputs);
    cost.products = {{n, k, rows, 1}};
    cost.flops = Flops(2.0 * static_cast<double>(rows) * static_cast<double>(n) * static_cast<double>(k));
    return cost;
  }
  ShardingRule sharding(const Attributes& attributes, Types) const override {
    const int rows = 0, n = 1, k = 2, groups = 3, offsets = 4;
    ShardingRule rule{{{rows, n}, {rows, k}, {offsets}}, {{groups, n, k}}, {rows, groups, offsets}};
    if (GroupedLinearGradWeightAttributes::from(attributes).bias) {
      rule.outputs.push_back({groups, n});
      rule.whole.push_back(k);  // the sums for the bias do not depend on it
    }
    return rule;
  }
};

}  // namespace

const Op& grouped_linear_op() {
  static const GroupedLinear op;
  return op;
}

const Op& grouped_linear_grad_input_op() {
  static const GroupedLinearGradInput op;
  return op;
}

const Op& grouped_linear_grad_weight_op() {
  static const GroupedLinearGradWeight op;
  return op;
}

ValueId grouped_linear(Graph& graph, ValueId x, ValueId w, ValueId offsets, ValueId b) {
  std::vector<ValueId> inputs = {x, w, offsets};
  if (b != kNoValue) inputs.push_back(b);
  return graph.add_one(grouped_linear_op(), LinearAttributes{}.to_attributes(), std::move(inputs));
}

}  // namespace headway::graph
