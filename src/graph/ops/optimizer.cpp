#include "graph/ops/optimizer.h"

#include <fmt/core.h>

#include "graph/ops/arithmetic.h"
#include "graph/ops/dropout.h"

namespace headway::graph {

GradNormAttributes GradNormAttributes::from(const Attributes& attributes) {
  return {attributes.number("scale")};
}
Attributes GradNormAttributes::to_attributes() const {
  return {{"scale", scale}};
}

AdamWAttributes AdamWAttributes::from(const Attributes& attributes) {
  return {attributes.number("beta1"),       attributes.number("beta2"),      attributes.number("eps"),
          attributes.number("clip"),        attributes.number("grad_scale"), attributes.list("decay_mask"),
          attributes.number("weight_decay")};
}

Attributes AdamWAttributes::to_attributes() const {
  return {{"beta1", beta1},
          {"beta2", beta2},
          {"eps", eps},
          {"clip", clip},
          {"grad_scale", grad_scale},
          {"decay_mask", decay_mask},
          {"weight_decay", weight_decay}};
}

SgdAttributes SgdAttributes::from(const Attributes& attributes) {
  return {attributes.number("momentum"), attributes.number("clip"), attributes.number("grad_scale"),
          attributes.list("decay_mask"), attributes.number("weight_decay")};
}

Attributes SgdAttributes::to_attributes() const {
  return {{"momentum", momentum},
          {"clip", clip},
          {"grad_scale", grad_scale},
          {"decay_mask", decay_mask},
          {"weight_decay", weight_decay}};
}

namespace {

class GradNorm final : public Op {
 public:
  std::string_view name() const override { return "grad_norm"; }
  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1 << 20);
    return {{DType::kF32, {}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return replicated_rule(inputs, infer(attributes, inputs));
  }
};

// Shared by the updates: a head of `head` scalars, then groups of `group` operands of equal shape, of which all but the
// gradient (the second) are overwritten.
class Update : public Op {
 public:
  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    const std::int64_t head = head_of(attributes), group = group_of(attributes);
    const auto count = static_cast<std::int64_t>(inputs.size());
    require_inputs(name(), inputs, 1, std::size_t{1} << 22);
    if (count < head || (count - head) % group != 0) {
      fail_shapes(name(), fmt::format("takes {} operands and then {} a parameter", head, group), inputs.first(1));
    }
    if (inputs[0].shape != Shape{4}) fail_shapes(name(), "hyper must be f32[4]", inputs.first(1));
    if (static_cast<std::int64_t>(attributes.list("decay_mask").size()) != (count - head) / group) {
      fail_shapes(name(), "decay_mask must have one entry a parameter", inputs.first(1));
    }
    std::vector<TensorType> outputs;
    for (std::int64_t first = head; first < count; first += group) {
      const Types operands = inputs.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(group));
      for (const TensorType& operand : operands) {
        if (operand.shape != operands[0].shape) fail_shapes(name(), "shapes of one parameter differ", operands);
      }
      for (std::int64_t index = 0; index < group; ++index) {
        if (index != 1) outputs.push_back(operands[static_cast<std::size_t>(index)]);
      }
    }
    return outputs;
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }

  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    ShardingRule rule;
    int next = 0;
    const auto fresh = [&](const Shape& shape) {
      std::vector<int> axes;
      for (std::int64_t axis = 0; axis < shape.rank(); ++axis) axes.push_back(next++);
      return axes;
    };
    const std::int64_t head = head_of(attributes), group = group_of(attributes);
    for (std::int64_t index = 0; index < head; ++index) {
      rule.inputs.push_back(fresh(inputs[static_cast<std::size_t>(index)].shape));
      rule.whole.insert(rule.whole.end(), rule.inputs.back().begin(), rule.inputs.back().end());
    }
    for (auto first = head; first < static_cast<std::int64_t>(inputs.size()); first += group) {
      const std::vector<int> axes = fresh(inputs[static_cast<std::size_t>(first)].shape);
      rule.inputs.insert(rule.inputs.end(), static_cast<std::size_t>(group), axes);
      rule.outputs.insert(rule.outputs.end(), static_cast<std::size_t>(group) - 1, axes);
    }
    return rule;
  }

  std::vector<Alias> aliases(const Attributes& attributes, std::int64_t inputs) const override {
    std::vector<Alias> aliases;
    const std::int64_t group = group_of(attributes);
    for (std::int64_t first = head_of(attributes); first < inputs; first += group) {
      for (std::int64_t index = 0; index < group; ++index) {
        if (index != 1) aliases.push_back({static_cast<std::int64_t>(aliases.size()), first + index});
      }
    }
    return aliases;
  }

 protected:
  static std::int64_t head_of(const Attributes& attributes) { return attributes.number("clip") > 0 ? 2 : 1; }
  virtual std::int64_t group_of(const Attributes& attributes) const = 0;
};

class AdamW final : public Update {
 public:
  std::string_view name() const override { return "adamw"; }

 protected:
  std::int64_t group_of(const Attributes&) const override { return 4; }
};

class Sgd final : public Update {
 public:
  std::string_view name() const override { return "sgd"; }

 protected:
  std::int64_t group_of(const Attributes& attributes) const override {
    return SgdAttributes::from(attributes).momentum > 0 ? 3 : 2;
  }
};

}  // namespace

const Op& grad_norm_op() {
  static const GradNorm op;
  return op;
}

const Op& adamw_op() {
  static const AdamW op;
  return op;
}

const Op& sgd_op() {
  static const Sgd op;
  return op;
}

void add_optimizer(Graph& graph, const std::vector<ValueId>& gradients, const OptimizerSpec& spec) {
  const std::vector<Parameter> parameters = graph.parameters();
  std::vector<ValueId> totals = gradients;
  const double grad_scale = 1.0 / static_cast<double>(spec.accumulate);
  if (spec.accumulate > 1) {
    const ValueId position = position_input(graph);
    graph.set_phase(Phase::kBackward);
    for (std::size_t index = 0; index < totals.size(); ++index) {
      if (totals[index] == kNoValue) continue;
      const Value& parameter = graph.value(parameters[index].value);
      graph.set_scope(parameter.name + ".accumulate");
      const ValueId accumulator = graph.add_state(parameter.name + ".gradient", parameter.type);
      totals[index] = graph.add_one(accumulate_op(), {}, {accumulator, totals[index], position});
    }
  }

  graph.set_phase(Phase::kUpdate);
  const ValueId hyper = graph.add_input("hyper", {DType::kF32, Shape{4}});
  std::vector<ValueId> head = {hyper};
  if (spec.clip > 0) {
    std::vector<ValueId> present;
    for (const ValueId total : totals) {
      if (total != kNoValue) present.push_back(total);
    }
    graph.set_scope("grad_norm");
    head.push_back(graph.add_one(grad_norm_op(), GradNormAttributes{grad_scale}.to_attributes(), present));
    graph.add_output("grad_norm", head.back());
  }
  for (std::size_t index = 0; index < totals.size(); ++index) {
    if (totals[index] == kNoValue) continue;
    const ValueId parameter = parameters[index].value;
    const Value value = graph.value(parameter);
    graph.set_scope(value.name + ".update");
    std::vector<ValueId> inputs = head;
    inputs.insert(inputs.end(), {parameter, totals[index]});
    const std::vector<std::int64_t> mask = {parameters[index].decays ? 1 : 0};
    if (spec.kind == OptimizerSpec::Kind::kAdamW) {
      inputs.push_back(graph.add_state(value.name + ".exp_avg", value.type));
      inputs.push_back(graph.add_state(value.name + ".exp_avg_sq", value.type));
      const AdamWAttributes attributes{spec.beta1, spec.beta2, spec.eps,         spec.clip,
                                       grad_scale, mask,       spec.weight_decay};
      graph.add(adamw_op(), attributes.to_attributes(), inputs);
    } else {
      if (spec.momentum > 0) inputs.push_back(graph.add_state(value.name + ".momentum_buffer", value.type));
      const SgdAttributes attributes{spec.momentum, spec.clip, grad_scale, mask, spec.weight_decay};
      graph.add(sgd_op(), attributes.to_attributes(), inputs);
    }
  }
}

}  // namespace headway::graph
