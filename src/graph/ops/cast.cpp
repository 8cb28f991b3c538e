#include "graph/ops/cast.h"

#include <fmt/core.h>

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {

CastAttributes CastAttributes::from(const Attributes& attributes) {
  const std::optional<DType> dtype = dtype_from_name(attributes.text("dtype"));
  HEADWAY_CHECK(dtype, "cast to the unknown type " + attributes.text("dtype"));
  return {*dtype};
}

Attributes CastAttributes::to_attributes() const {
  return {{"dtype", std::string(name_of(dtype))}};
}

namespace {

class Cast final : public Op {
 public:
  std::string_view name() const override { return "cast"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const DType from = inputs[0].dtype, to = CastAttributes::from(attributes).dtype;
    const bool known = (from == DType::kF32 && to == DType::kBF16) || (from == DType::kBF16 && to == DType::kF32);
    if (!known)
      fail_shapes(name(), fmt::format("{} to {} is none of f32 to bf16, bf16 to f32", name_of(from), name_of(to)),
                  inputs);
    return {{to, inputs[0].shape}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes&, Types inputs) const override { return pointwise_rule(inputs, 1); }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {cast(context.graph(), context.output_gradient(0), context.type(context.input(0)).dtype)};
  }
};

}  // namespace

const Op& cast_op() {
  static const Cast op;
  return op;
}

ValueId cast(Graph& graph, ValueId x, DType dtype) {
  return graph.add_one(cast_op(), CastAttributes{dtype}.to_attributes(), {x});
}

}  // namespace headway::graph
