#include "graph/ops/attention.h"

#include <fmt/core.h>

#include "graph/autodiff.h"

namespace headway::graph {

AttentionAttributes AttentionAttributes::from(const Attributes& attributes) {
  return {attributes.integer("heads"), attributes.flag("causal"), attributes.integer("kv_heads")};
}

Attributes AttentionAttributes::to_attributes() const {
  return {{"heads", heads}, {"causal", causal}, {"kv_heads", key_value_heads()}};
}

namespace {

struct Sizes {
  std::int64_t batch = 0, sequence = 0, heads = 0, head_size = 0;
};

Sizes sizes_of(std::string_view op, const AttentionAttributes& attributes, const Shape& qkv, Types inputs) {
  const std::int64_t heads = attributes.heads, kv_heads = attributes.key_value_heads();
  if (qkv.rank() != 3) fail_shapes(op, "qkv must be [batch, sequence, (heads + 2 kv_heads) * head_size]", inputs);
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0) {
    fail_shapes(op, fmt::format("{} heads cannot share {} of keys and values", heads, kv_heads), inputs);
  }
  if (qkv[2] % attributes.all_heads() != 0) {
    fail_shapes(op, fmt::format("the last axis is not divisible by {} + 2 * {} heads", heads, kv_heads), inputs);
  }
  return {qkv[0], qkv[1], heads, qkv[2] / attributes.all_heads()};
}

// `products` of sequence x sequence x head_size per head; causal attention counts half (design, FLOPs).
OpCost attention_cost(Types inputs, Types outputs, const Sizes& sizes, bool causal, double products) {
  OpCost cost = memory_cost(inputs, outputs);
  const auto pairs = static_cast<double>(sizes.batch * sizes.heads) * static_cast<double>(sizes.sequence) *
                     static_cast<double>(sizes.sequence);
  cost.flops = Flops(products * 2.0 * pairs * static_cast<double>(sizes.head_size) * (causal ? 0.5 : 1.0));
  return cost;
}

// Only the batch is split here: the last axis holds queries, keys and values one after another.
ShardingRule batch_rule(Types inputs, Types outputs) {
  ShardingRule rule = replicated_rule(inputs, outputs);
  const int batch = rule.inputs[0][0];
  for (std::vector<std::vector<int>>* operands : {&rule.inputs, &rule.outputs}) {
    for (std::vector<int>& axes : *operands) {
      std::erase(rule.whole, axes[0]);
      axes[0] = batch;
    }
  }
  return rule;
}

class Attention final : public Op {
 public:
  std::string_view name() const override { return "attention"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const Sizes sizes = sizes_of(name(), AttentionAttributes::from(raw), inputs[0].shape, inputs);
    return {{inputs[0].dtype, Shape{sizes.batch, sizes.sequence, sizes.heads * sizes.head_size}},
            {DType::kF32, Shape{sizes.batch, sizes.heads, sizes.sequence}}};
  }
  OpCost cost(const Attributes& raw, Types inputs, Types outputs) const override {
    const AttentionAttributes attributes = AttentionAttributes::from(raw);
    return attention_cost(inputs, outputs, sizes_of(name(), attributes, inputs[0].shape, inputs), attributes.causal, 2);
  }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return batch_rule(inputs, infer(attributes, inputs));
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {
        context.graph().add_one(attention_grad_op(), context.attributes(),
                                {context.output_gradient(0), context.input(0), context.output(0), context.output(1)})};
  }
};

class AttentionGrad final : public Op {
 public:
  std::string_view name() const override { return "attention_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 4, 4);
    const Sizes sizes = sizes_of(name(), AttentionAttributes::from(raw), inputs[1].shape, inputs);
    const Shape out{sizes.batch, sizes.sequence, sizes.heads * sizes.head_size};
    if (inputs[0].shape != out || inputs[2].shape != out)
      fail_shapes(name(), "gradient and output do not fit qkv", inputs);
    if (inputs[3].shape != Shape{sizes.batch, sizes.heads, sizes.sequence}) {
      fail_shapes(name(), "log-sum-exp does not fit qkv", inputs);
    }
    return {inputs[1]};
  }
  OpCost cost(const Attributes& raw, Types inputs, Types outputs) const override {
    // The gradient proper is four products; the scores computed again are recomputation and do not count.
    const AttentionAttributes attributes = AttentionAttributes::from(raw);
    return attention_cost(inputs, outputs, sizes_of(name(), attributes, inputs[1].shape, inputs), attributes.causal, 4);
  }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    return batch_rule(inputs, infer(attributes, inputs));
  }
};

}  // namespace

const Op& attention_op() {
  static const Attention op;
  return op;
}

const Op& attention_grad_op() {
  static const AttentionGrad op;
  return op;
}

ValueId attention(Graph& graph, ValueId qkv, AttentionAttributes attributes) {
  return graph.add_one(attention_op(), attributes.to_attributes(), {qkv});
}

}  // namespace headway::graph
