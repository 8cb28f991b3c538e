#include "graph/ops/linear.h"

#include <fmt/core.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/ops/arithmetic.h"

namespace headway::graph {

LinearAttributes LinearAttributes::from(const Attributes& attributes) {
  return {Activation::from(attributes, "activation"), attributes.flag("keep_pre")};
}

Attributes LinearAttributes::to_attributes() const {
  Attributes attributes{{"keep_pre", keep_pre}};
  activation.write(attributes, "activation");
  return attributes;
}

MatmulAttributes MatmulAttributes::from(const Attributes& attributes) {
  return {attributes.flag("transpose_a"), attributes.flag("transpose_b"), attributes.flag("flatten")};
}

Attributes MatmulAttributes::to_attributes() const {
  return {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}, {"flatten", flatten}};
}

MatmulShape matmul_shape(const MatmulAttributes& attributes, const Shape& a, const Shape& b) {
  MatmulShape shape;
  if (attributes.flatten) {
    shape.m = attributes.transpose_a ? a[-1] : a.rows();
    shape.k = attributes.transpose_a ? a.rows() : a[-1];
    shape.n = attributes.transpose_b ? b.rows() : b[-1];
    return shape;
  }
  for (std::int64_t axis = 0; axis + 2 < a.rank(); ++axis) shape.batch *= a[axis];
  shape.m = attributes.transpose_a ? a[-1] : a[-2];
  shape.k = attributes.transpose_a ? a[-2] : a[-1];
  shape.n = attributes.transpose_b ? b[-2] : b[-1];
  return shape;
}

namespace {

std::vector<std::int64_t> replace_last(const Shape& shape, std::int64_t last) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.back() = last;
  return dims;
}

// Products of bf16 are summed in f32, and stay so.
DType sum_type(Types inputs) {
  return inputs[0].dtype == DType::kBF16 ? DType::kF32 : inputs[0].dtype;
}

class Linear final : public Op {
 public:
  std::string_view name() const override { return "linear"; }

  std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const override {
    require_inputs(name(), inputs, 2, 3);
    require_rank(name(), inputs, 0, 1, 8);
    require_rank(name(), inputs, 1, 2, 2);
    const Shape& x = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    if (inputs[0].dtype != inputs[1].dtype) fail_shapes(name(), "types of x and of w differ", inputs);
    if (x[-1] != w[1]) fail_shapes(name(), "last axis of x and of w differ", inputs);
    if (inputs.size() == 3 && inputs[2].shape != Shape{w[0]}) fail_shapes(name(), "bias must be [rows of w]", inputs);
    const TensorType y{sum_type(inputs), Shape(replace_last(x, w[0]))};
    return LinearAttributes::from(attributes).keep_pre ? std::vector{y, y} : std::vector{y};
  }

  OpCost cost(const Attributes&, Types inputs, Types outputs) const override {
    OpCost cost = memory_cost(inputs, outputs);
    const std::int64_t m = inputs[0].shape.rows(), k = inputs[1].shape[1], n = inputs[1].shape[0];
    cost.products = {{m, n, k, 1}};
    cost.flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
    return cost;
  }

  ShardingRule sharding(const Attributes& raw, Types inputs) const override {
    // x [rows..., k], w [n, k], b [n] -> y [rows..., n]; k is summed, so a split of k is only right without bias and
    // activation.
    const LinearAttributes attributes = LinearAttributes::from(raw);
    const auto rows = static_cast<int>(inputs[0].shape.rank()) - 1;
    const int n = rows, k = rows + 1;
    ShardingRule rule;
    std::vector<int> x, y;
    for (int axis = 0; axis < rows; ++axis) {
      x.push_back(axis);
      y.push_back(axis);
    }
    x.push_back(k);
    y.push_back(n);
    rule.inputs = {x, {n, k}};
    if (inputs.size() == 3) rule.inputs.push_back({n});
    if (inputs.size() == 3 || attributes.activation != Activation::kNone) rule.whole.push_back(k);
    rule.outputs = {y};
    if (attributes.keep_pre) rule.outputs.push_back(y);
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    HEADWAY_CHECK(LinearAttributes::from(context.attributes()).activation == Activation::kNone,
                  "fusion runs after differentiation");
    Graph& graph = context.graph();
    const ValueId dy = context.output_gradient(0);
    std::vector<ValueId> gradients(context.inputs(), kNoValue);
    if (context.needs(0)) gradients[0] = matmul(graph, dy, context.input(1), {false, false, true});
    if (context.needs(1)) gradients[1] = matmul(graph, dy, context.input(0), {true, false, true});
    if (context.inputs() == 3 && context.needs(2)) gradients[2] = sum_leading(graph, dy, 1);
    return gradients;
  }
};

class Matmul final : public Op {
 public:
  std::string_view name() const override { return "matmul"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const MatmulAttributes attributes = MatmulAttributes::from(raw);
    require_inputs(name(), inputs, 2, 2);
    const std::int64_t least = attributes.flatten ? 1 : 2;
    require_rank(name(), inputs, 0, least, 8);
    require_rank(name(), inputs, 1, least, 8);
    const Shape& a = inputs[0].shape;
    const Shape& b = inputs[1].shape;
    if (inputs[0].dtype != inputs[1].dtype) fail_shapes(name(), "types differ", inputs);
    const MatmulShape shape = matmul_shape(attributes, a, b);
    const std::int64_t inner_b =
        attributes.flatten ? (attributes.transpose_b ? b[-1] : b.rows()) : (attributes.transpose_b ? b[-1] : b[-2]);
    if (shape.k != inner_b) fail_shapes(name(), "inner sizes differ", inputs);
    if (attributes.flatten) {
      if (attributes.transpose_a) return {{sum_type(inputs), Shape{shape.m, shape.n}}};
      if (b.rank() != 2) fail_shapes(name(), "flatten without transpose_a needs a matrix as b", inputs);
      return {{sum_type(inputs), Shape(replace_last(a, shape.n))}};
    }
    if (a.rank() != b.rank()) fail_shapes(name(), "numbers of axes differ", inputs);
    std::vector<std::int64_t> dims(a.dims().begin(), a.dims().end() - 2);
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] != b.dims()[axis]) fail_shapes(name(), "leading axes differ", inputs);
    }
    dims.insert(dims.end(), {shape.m, shape.n});
    return {{sum_type(inputs), Shape(std::move(dims))}};
  }

  OpCost cost(const Attributes& attributes, Types inputs, Types outputs) const override {
    OpCost cost = memory_cost(inputs, outputs);
    const MatmulShape shape = matmul_shape(MatmulAttributes::from(attributes), inputs[0].shape, inputs[1].shape);
    cost.products = {{shape.m, shape.n, shape.k, shape.batch}};
    cost.flops = Flops(2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n) * static_cast<double>(shape.k));
    return cost;
  }

  ShardingRule sharding(const Attributes& raw, Types inputs) const override {
    const MatmulAttributes attributes = MatmulAttributes::from(raw);
    const auto leading = static_cast<int>(inputs[0].shape.rank()) - (attributes.flatten ? 1 : 2);
    const int m = leading, n = leading + 1, k = leading + 2;
    std::vector<int> a, b, y;
    for (int axis = 0; axis < leading; ++axis) {
      a.push_back(axis);
      if (!attributes.flatten || attributes.transpose_a) b.push_back(axis);
      if (!attributes.flatten || !attributes.transpose_a) y.push_back(axis);
    }
    if (attributes.flatten && attributes.transpose_a) {
      // a [rows..., m], b [rows..., n]: the rows are the summed factor.
      a.push_back(m);
      b.push_back(n);
      return {{a, b}, {{m, n}}, {}};
    }
    if (attributes.flatten) {
      a.push_back(k);
      y.push_back(n);
      return {{a, attributes.transpose_b ? std::vector{n, k} : std::vector{k, n}}, {y}, {}};
    }
    a.insert(a.end(), {attributes.transpose_a ? k : m, attributes.transpose_a ? m : k});
    b.insert(b.end(), {attributes.transpose_b ? n : k, attributes.transpose_b ? k : n});
    y.insert(y.end(), {m, n});
    return {{a, b}, {y}, {}};
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    // With op(a) op(b) = y: d op(a) = dy op(b)^T, d op(b) = op(a)^T dy, each written in the layout of a and b.
    const MatmulAttributes attributes = MatmulAttributes::from(context.attributes());
    HEADWAY_CHECK(!attributes.flatten, "a flattened matmul is only made by gradients");
    const bool ta = attributes.transpose_a, tb = attributes.transpose_b;
    Graph& graph = context.graph();
    const ValueId a = context.input(0), b = context.input(1), dy = context.output_gradient(0);
    std::vector<ValueId> gradients(2, kNoValue);
    if (context.needs(0)) gradients[0] = ta ? matmul(graph, b, dy, {tb, true}) : matmul(graph, dy, b, {false, !tb});
    if (context.needs(1)) gradients[1] = tb ? matmul(graph, dy, a, {true, ta}) : matmul(graph, a, dy, {!ta, false});
    return gradients;
  }
};

}  // namespace

const Op& linear_op() {
  static const Linear op;
  return op;
}

const Op& matmul_op() {
  static const Matmul op;
  return op;
}

ValueId linear(Graph& graph, ValueId x, ValueId w, ValueId b) {
  std::vector<ValueId> inputs = {x, w};
  if (b != kNoValue) inputs.push_back(b);
  return graph.add_one(linear_op(), LinearAttributes{}.to_attributes(), std::move(inputs));
}

ValueId matmul(Graph& graph, ValueId a, ValueId b, MatmulAttributes attributes) {
  return graph.add_one(matmul_op(), attributes.to_attributes(), {a, b});
}

}  // namespace headway::graph
