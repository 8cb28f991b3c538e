#include "graph/ops/embedding.h"

#include "graph/autodiff.h"

namespace headway::graph {

EmbeddingGradAttributes EmbeddingGradAttributes::from(const Attributes& attributes) {
  return {attributes.integer("rows")};
}

Attributes EmbeddingGradAttributes::to_attributes() const {
  return {{"rows", rows}};
}

namespace {

class Embedding final : public Op {
 public:
  std::string_view name() const override { return "embedding"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    require_rank(name(), inputs, 0, 2, 2);
    require_dtype(name(), inputs, 1, DType::kI32);
    std::vector<std::int64_t> dims = inputs[1].shape.dims();
    dims.push_back(inputs[0].shape[1]);
    return {{inputs[0].dtype, Shape(std::move(dims))}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    OpCost cost = memory_cost(inputs, outputs);
    cost.read = inputs[1].bytes() + outputs[0].bytes();  // only the rows that are asked for
    return cost;
  }
  ShardingRule sharding(const Attributes&, Types inputs) const override {
    // table [rows, n], ids [...] -> [..., n]; the rows of the table stay whole.
    const auto axes = static_cast<int>(inputs[1].shape.rank());
    std::vector<int> ids;
    for (int axis = 0; axis < axes; ++axis) ids.push_back(axis);
    std::vector<int> out = ids;
    out.push_back(axes);
    return {{{axes + 1, axes}, ids}, {out}, {axes + 1}};
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {context.graph().add_one(embedding_grad_op(),
                                    EmbeddingGradAttributes{context.type(context.input(0)).shape[0]}.to_attributes(),
                                    {context.output_gradient(0), context.input(1)}),
            kNoValue};
  }
};

class EmbeddingGrad final : public Op {
 public:
  std::string_view name() const override { return "embedding_grad"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    require_rank(name(), inputs, 0, 1, 8);
    require_dtype(name(), inputs, 1, DType::kI32);
    const Shape& dy = inputs[0].shape;
    if (Shape(std::vector<std::int64_t>(dy.dims().begin(), dy.dims().end() - 1)) != inputs[1].shape) {
      fail_shapes(name(), "one id a row of the gradient is needed", inputs);
    }
    return {{inputs[0].dtype, Shape{EmbeddingGradAttributes::from(attributes).rows, dy[-1]}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override {
    const auto axes = static_cast<int>(inputs[1].shape.rank());
    std::vector<int> ids;
    for (int axis = 0; axis < axes; ++axis) ids.push_back(axis);
    std::vector<int> dy = ids;
    dy.push_back(axes);
    return {{dy, ids}, {{axes + 1, axes}}, {axes + 1}};
  }
};

class PositionEmbedding final : public Op {
 public:
  std::string_view name() const override { return "position_embedding"; }

  std::vector<TensorType> infer(const Attributes&, Types inputs) const override {
    require_inputs(name(), inputs, 2, 2);
    require_rank(name(), inputs, 0, 2, 8);
    require_rank(name(), inputs, 1, 2, 2);
    const Shape& x = inputs[0].shape;
    const Shape& table = inputs[1].shape;
    if (table[1] != x[-1]) fail_shapes(name(), "rows of the table must be as long as those of x", inputs);
    if (table[0] < x[-2]) fail_shapes(name(), "the table has fewer rows than x has positions", inputs);
    return {inputs[0]};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    OpCost cost = memory_cost(inputs.first(1), outputs);
    cost.read += Bytes(inputs[0].shape[-2] * inputs[0].shape[-1] * size_of(inputs[1].dtype));
    return cost;
  }
  ShardingRule sharding(const Attributes&, Types inputs) const override {
    ShardingRule rule = pointwise_rule(inputs.first(1), 1);
    const std::vector<int>& axes = rule.inputs[0];
    const int positions = static_cast<int>(axes.size());
    rule.whole = {axes[axes.size() - 2], positions};
    rule.inputs.push_back({positions, axes.back()});
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    const ValueId dy = context.output_gradient(0);
    if (!context.needs(1)) return {dy, kNoValue};
    const EmbeddingGradAttributes attributes{context.type(context.input(1)).shape[0]};
    return {dy, context.graph().add_one(position_embedding_grad_op(), attributes.to_attributes(), {dy})};
  }
};

class PositionEmbeddingGrad final : public Op {
 public:
  std::string_view name() const override { return "position_embedding_grad"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    require_rank(name(), inputs, 0, 2, 8);
    const std::int64_t rows = EmbeddingGradAttributes::from(attributes).rows;
    if (rows < inputs[0].shape[-2]) fail_shapes(name(), "the table has fewer rows than dy has positions", inputs);
    return {{inputs[0].dtype, Shape{rows, inputs[0].shape[-1]}}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override {
    ShardingRule rule = pointwise_rule(inputs, 0);
    const std::vector<int>& axes = rule.inputs[0];
    const int positions = static_cast<int>(axes.size());
    rule.outputs = {{positions, axes.back()}};
    rule.whole = {axes[axes.size() - 2], positions};
    return rule;
  }
};

}  // namespace

const Op& embedding_op() {
  static const Embedding op;
  return op;
}

const Op& embedding_grad_op() {
  static const EmbeddingGrad op;
  return op;
}

const Op& position_embedding_op() {
  static const PositionEmbedding op;
  return op;
}

const Op& position_embedding_grad_op() {
  static const PositionEmbeddingGrad op;
  return op;
}

ValueId position_embedding(Graph& graph, ValueId x, ValueId table) {
  return graph.add_one(position_embedding_op(), {}, {x, table});
}

ValueId embedding(Graph& graph, ValueId table, ValueId ids) {
  return graph.add_one(embedding_op(), {}, {table, ids});
}

}  // namespace headway::graph
