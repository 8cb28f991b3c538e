#include "graph/ops/reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/shape_ops.h"

namespace headway::graph {

ReduceAttributes ReduceAttributes::from(const Attributes& attributes) {
  return {attributes.integer("first"), attributes.integer("count")};
}
Attributes ReduceAttributes::to_attributes() const {
  return {{"first", first}, {"count", count}};
}

ExpandAttributes ExpandAttributes::from(const Attributes& attributes) {
  return {attributes.list("shape")};
}
Attributes ExpandAttributes::to_attributes() const {
  return {{"shape", shape}};
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(std::max(a.rank(), b.rank())));
  for (std::int64_t back = 1; back <= static_cast<std::int64_t>(dims.size()); ++back) {
    const std::int64_t left = back <= a.rank() ? a[-back] : 1, right = back <= b.rank() ? b[-back] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    dims[dims.size() - static_cast<std::size_t>(back)] = left == 1 ? right : left;
  }
  return Shape(std::move(dims));
}

std::vector<int> broadcast_factors(const Shape& from, const Shape& to, int& next) {
  std::vector<int> factors;
  const std::int64_t missing = to.rank() - from.rank();
  for (std::int64_t axis = 0; axis < from.rank(); ++axis) {
    const bool same = from[axis] == to[axis + missing];
    factors.push_back(same ? static_cast<int>(axis + missing) : next++);
  }
  return factors;
}

ValueId sum_to(Graph& graph, ValueId x, const Shape& wanted) {
  const Shape shape(wanted.dims());  // `wanted` may lie in the graph, which grows
  const Shape from = graph.value(x).type.shape;
  if (from == shape) return x;
  const std::int64_t missing = from.rank() - shape.rank();
  std::vector<std::int64_t> stretched;
  for (std::int64_t axis = 0; axis < from.rank(); ++axis) {
    if (axis < missing || shape[axis - missing] != from[axis]) stretched.push_back(axis);
  }
  // Of leading axes alone: the sum that biases have, too.
  if (static_cast<std::int64_t>(stretched.size()) == missing) return sum_leading(graph, x, shape.rank());
  const ValueId sum = reduce_sum(graph, x, std::move(stretched));
  if (graph.value(sum).type.shape == shape) return sum;
  return reshape(graph, sum, shape);
}

namespace {

// The axes from 0 on, ascending and each once; UserError for one that x does not have.
std::vector<std::int64_t> sorted_axes(const Graph& graph, ValueId x, std::vector<std::int64_t> axes) {
  const TensorType& type = graph.value(x).type;
  for (std::int64_t& axis : axes) {
    if (axis < -type.shape.rank() || axis >= type.shape.rank()) {
      fail_shapes("reduce", fmt::format("axis {} of {}", axis, type.shape.rank()), Types(&type, 1));
    }
    if (axis < 0) axis += type.shape.rank();
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

class Reduce final : public Op {
 public:
  std::string_view name() const override { return "reduce"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const ReduceAttributes attributes = ReduceAttributes::from(raw);
    const Shape& x = inputs[0].shape;
    if (attributes.first < 0 || attributes.count < 1 || attributes.first > x.rank() - attributes.count) {
      fail_shapes(name(),
                  fmt::format("{} axes from axis {} on are not within the {} of x", attributes.count, attributes.first,
                              x.rank()),
                  inputs);
    }
    return {{inputs[0].dtype, Shape(without(x.dims(), attributes))}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    ShardingRule rule = pointwise_rule(inputs, 0);
    rule.outputs = {without(rule.inputs[0], ReduceAttributes::from(attributes))};
    return rule;
  }
  // The gradient again for every element of a sum.
  std::vector<ValueId> gradient(GradientContext& context) const override {
    const ReduceAttributes attributes = ReduceAttributes::from(context.attributes());
    const Shape x = context.type(context.input(0)).shape;
    std::vector<std::int64_t> kept = x.dims();
    std::fill_n(kept.begin() + attributes.first, attributes.count, 1);
    const ValueId dy = reshape(context.graph(), context.output_gradient(0), Shape(std::move(kept)));
    return {expand(context.graph(), dy, x)};
  }

 private:
  template <class T>
  static std::vector<T> without(std::vector<T> axes, const ReduceAttributes& attributes) {
    axes.erase(axes.begin() + attributes.first, axes.begin() + attributes.first + attributes.count);
    return axes;
  }
};

class Expand final : public Op {
 public:
  std::string_view name() const override { return "expand"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    require_inputs(name(), inputs, 1, 1);
    const Shape shape(ExpandAttributes::from(raw).shape);
    if (broadcast(inputs[0].shape, shape) != shape) {
      fail_shapes(name(), fmt::format("x does not broadcast to {}", to_string(shape)), inputs);
    }
    return {{inputs[0].dtype, shape}};
  }
  OpCost cost(const Attributes&, Types inputs, Types outputs) const override { return memory_cost(inputs, outputs); }
  ShardingRule sharding(const Attributes& attributes, Types inputs) const override {
    const Shape shape(ExpandAttributes::from(attributes).shape);
    int next = 0;
    ShardingRule rule;
    rule.outputs = {broadcast_factors(shape, shape, next)};
    next = static_cast<int>(shape.rank());
    rule.inputs = {broadcast_factors(inputs[0].shape, shape, next)};
    return rule;
  }
  std::vector<ValueId> gradient(GradientContext& context) const override {
    return {sum_to(context.graph(), context.output_gradient(0), context.type(context.input(0)).shape)};
  }
};

}  // namespace

const Op& reduce_op() {
  static const Reduce op;
  return op;
}

const Op& expand_op() {
  static const Expand op;
  return op;
}

ValueId reduce_sum(Graph& graph, ValueId x, std::vector<std::int64_t> axes, bool keep) {
  axes = sorted_axes(graph, x, std::move(axes));
  std::vector<std::int64_t> kept = graph.value(x).type.shape.dims();
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  // From the last group of neighbours on, so that the axes before it keep their places.
  for (std::size_t end = axes.size(); end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && axes[begin - 1] + 1 == axes[begin]) --begin;
    const ReduceAttributes group{axes[begin], static_cast<std::int64_t>(end - begin)};
    x = graph.add_one(reduce_op(), group.to_attributes(), {x});
    end = begin;
  }
  return keep ? reshape(graph, x, Shape(std::move(kept))) : x;
}

ValueId reduce_mean(Graph& graph, ValueId x, std::vector<std::int64_t> axes, bool keep) {
  double elements = 1;
  for (const std::int64_t axis : sorted_axes(graph, x, axes)) {
    elements *= static_cast<double>(graph.value(x).type.shape[axis]);
  }
  return scale(graph, reduce_sum(graph, x, std::move(axes), keep), 1 / elements);
}

ValueId expand(Graph& graph, ValueId x, const Shape& shape) {
  return graph.add_one(expand_op(), ExpandAttributes{shape.dims()}.to_attributes(), {x});
}

}  // namespace headway::graph
