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

}  // namespace

const Op& embedding_op() {
  static const Embedding op;
  return op;
}

const Op& embedding_grad_op() {
  static const EmbeddingGrad op;
  return op;
}

ValueId embedding(Graph& graph, ValueId table, ValueId ids) {
  return graph.add_one(embedding_op(), {}, {table, ids});
}

}  // namespace headway::graph
