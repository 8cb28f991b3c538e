#include "graph/ops/loss.h"

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {

CrossEntropyAttributes CrossEntropyAttributes::from(const Attributes& attributes) {
  return {attributes.flag("with_grad")};
}

Attributes CrossEntropyAttributes::to_attributes() const {
  return {{"with_grad", with_grad}};
}

namespace {

// The mean over rows divides by the local count, so a split of the rows does not simply add up: nothing is split here
// but by data parallelism, which averages losses and gradients itself.
Shape rows_of(const Shape& logits) {
  return Shape(std::vector<std::int64_t>(logits.dims().begin(), logits.dims().end() - 1));
}

void require_labels(std::string_view op, Types inputs) {
  require_rank(op, inputs, 0, 1, 8);
  require_dtype(op, inputs, 1, DType::kI32);
  if (inputs[1].shape != rows_of(inputs[0].shape)) fail_shapes(op, "one label a row of logits is needed", inputs);
}

void require_scalar(std::string_view op, Types inputs, std::size_t index) {
  if (inputs[index].shape.rank() != 0) fail_shapes(op, "the gradient of the loss must be a scalar", inputs);
}

class CrossEntropy final : public Op {
 public:
  std::string_view name() const override { return "cross_entropy"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const bool with_grad = CrossEntropyAttributes::from(raw).with_grad;
    require_inputs(name(), inputs, with_grad ? 3 : 2, with_grad ? 3 : 2);
    require_labels(name(), inputs);
    const TensorType loss{DType::kF32, {}};
    if (!with_grad) return {loss, {DType::kF32, rows_of(inputs[0].shape)}};
    require_scalar(name(), inputs, 2);
    return {loss, inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return replicated_rule(inputs, infer(attributes, inputs));
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    HEADWAY_CHECK(!CrossEntropyAttributes::from(context.attributes()).with_grad, "fusion runs after differentiation");
    return {
        context.graph().add_one(cross_entropy_grad_op(), {},
                                {context.input(0), context.input(1), context.output(1), context.output_gradient(0)}),
        kNoValue};
  }
};

class CrossEntropyGrad final : public Op {
 public:
  std::string_view name() const override { return "cross_entropy_grad"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 4, 4);
    require_labels(name(), inputs);
    if (inputs[2].shape != rows_of(inputs[0].shape)) fail_shapes(name(), "one log-sum-exp a row is needed", inputs);
    require_scalar(name(), inputs, 3);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return replicated_rule(inputs, infer(attributes, inputs));
  }
};

// A mean over elements of a function of prediction and target.
class ElementLoss : public Op {
 public:
  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    if (inputs[0] != inputs[1]) fail_shapes(name(), "prediction and target differ", inputs);
    return {{DType::kF32, {}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return replicated_rule(inputs, infer(attributes, inputs));
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    HEADWAY_CHECK(!context.needs(1), "the target of a loss is data and has no gradient");
    return {
        context.graph().add_one(gradient_op(), {}, {context.input(0), context.input(1), context.output_gradient(0)}),
        kNoValue};
  }

 protected:
  virtual const Op& gradient_op() const = 0;
};

class ElementLossGrad : public Op {
 public:
  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 3, 3);
    if (inputs[0] != inputs[1]) fail_shapes(name(), "prediction and target differ", inputs);
    require_scalar(name(), inputs, 2);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return replicated_rule(inputs, infer(attributes, inputs));
  }
};

class Mse final : public ElementLoss {
 public:
  std::string_view name() const override { return "mse"; }

 protected:
  const Op& gradient_op() const override { return mse_grad_op(); }
};

class MseGrad final : public ElementLossGrad {
 public:
  std::string_view name() const override { return "mse_grad"; }
};

class BceWithLogits final : public ElementLoss {
 public:
  std::string_view name() const override { return "bce_with_logits"; }

 protected:
  const Op& gradient_op() const override { return bce_with_logits_grad_op(); }
};

class BceWithLogitsGrad final : public ElementLossGrad {
 public:
  std::string_view name() const override { return "bce_with_logits_grad"; }
};

class CountCorrect final : public Op {
 public:
  std::string_view name() const override { return "count_correct"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    require_labels(name(), inputs);
    return {{DType::kF32, {}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes&, Types inputs) const override {
    // A count does add up over rows; the classes stay whole.
    ShardingRule rule = pointwise_rule(inputs.first(1), 0);
    const int classes = rule.inputs[0].back();
    rule.inputs.emplace_back(rule.inputs[0].begin(), rule.inputs[0].end() - 1);
    rule.outputs = {{}};
    rule.whole = {classes};
    return rule;
  }
};

}  // namespace

const Op& cross_entropy_op() {
  static const CrossEntropy op;
  return op;
}

const Op& cross_entropy_grad_op() {
  static const CrossEntropyGrad op;
  return op;
}

const Op& mse_op() {
  static const Mse op;
  return op;
}

const Op& mse_grad_op() {
  static const MseGrad op;
  return op;
}

const Op& bce_with_logits_op() {
  static const BceWithLogits op;
  return op;
}

const Op& bce_with_logits_grad_op() {
  static const BceWithLogitsGrad op;
  return op;
}

const Op& count_correct_op() {
  static const CountCorrect op;
  return op;
}

ValueId cross_entropy(Graph& graph, ValueId logits, ValueId labels) {
  return graph.add_one(cross_entropy_op(), CrossEntropyAttributes{}.to_attributes(), {logits, labels});
}

ValueId mse(Graph& graph, ValueId x, ValueId target) {
  return graph.add_one(mse_op(), {}, {x, target});
}

ValueId bce_with_logits(Graph& graph, ValueId logits, ValueId target) {
  return graph.add_one(bce_with_logits_op(), {}, {logits, target});
}

ValueId count_correct(Graph& graph, ValueId logits, ValueId labels) {
  return graph.add_one(count_correct_op(), {}, {logits, labels});
}

}  // namespace headway::graph
