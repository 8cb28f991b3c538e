#include <array>
#include <utility>

#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/attention.h"
#include "graph/ops/avg_pool.h"
#include "graph/ops/batchnorm.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/dropout.h"
#include "graph/ops/embedding.h"
#include "graph/ops/grouped_linear.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "graph/ops/moe.h"
#include "graph/ops/pool.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reduce.h"
#include "graph/ops/rmsnorm.h"
#include "graph/ops/rotary.h"
#include "graph/ops/shape_ops.h"
#include "graph/ops/softmax.h"
#include "graph/ops/swiglu.h"
#include "tests/ops/gradient_check.h"

namespace headway::ops_test {
namespace {

using graph::Activation;
using graph::ValueId;

// Extents from 1 to `most`: one, and odd and even sizes.
std::int64_t extent(GraphMaker& maker, std::int64_t most = 6) {
  return maker.random().integer(1, most);
}

// A shape of 1 to 3 axes.
Shape any_shape(GraphMaker& maker, int variant) {
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis <= variant % 3; ++axis) dims.push_back(variant == 0 ? 1 : extent(maker));
  return Shape(dims);
}

// Two operands, of which variants let none, the second, the first, or both broadcast.
template <class Operation>
ValueId build_binary(GraphMaker& maker, int variant, double low, const Operation& operation) {
  const std::int64_t m = 1 + extent(maker), n = 1 + extent(maker), k = 1 + extent(maker);
  const std::array<std::pair<Shape, Shape>, 8> shapes = {{{{m, n}, {m, n}},
                                                          {{m, n, k}, {k}},
                                                          {{m, n, k}, {m, 1, k}},
                                                          {{n, 1}, {m, n, k}},
                                                          {{}, {m, n}},
                                                          {{m, 1, k}, {n, 1}},
                                                          {{m, 1}, {1, n}},
                                                          {{m, n}, {1, 1}}}};
  const auto& [left, right] = shapes[static_cast<std::size_t>(variant)];
  const ValueId a = maker.parameter(left), b = maker.parameter(right, low, 2);
  return maker.loss_of(operation(maker.graph(), a, b));
}

ValueId build_add(GraphMaker& maker, int variant) {
  return build_binary(maker, variant, -2, graph::add);
}
ValueId build_sub(GraphMaker& maker, int variant) {
  return build_binary(maker, variant, -2, graph::sub);
}
ValueId build_mul(GraphMaker& maker, int variant) {
  return build_binary(maker, variant, -2, graph::mul);
}
ValueId build_div(GraphMaker& maker, int variant) {
  return build_binary(maker, variant, 0.7, graph::div);
}

// Axes alone, neighbours, apart, all; given from either end, in any order; sums and means; kept and not.
ValueId build_reduce(GraphMaker& maker, int variant) {
  const std::vector<std::vector<std::int64_t>> axes = {{0}, {-1}, {2, 1}, {0, -1}, {3, 1}, {0, 1, 2, 3}};
  const auto which = static_cast<std::size_t>(variant / 2);
  const ValueId x = maker.parameter({extent(maker, 3), extent(maker, 4), extent(maker, 3), extent(maker, 4)});
  return maker.loss_of(variant % 2 == 0 ? graph::reduce_sum(maker.graph(), x, axes[which], variant % 4 == 0)
                                        : graph::reduce_mean(maker.graph(), x, axes[which], variant % 4 == 1));
}

ValueId build_expand(GraphMaker& maker, int variant) {
  const std::int64_t m = 1 + extent(maker), n = extent(maker), k = extent(maker);
  const std::array<Shape, 5> from = {Shape{}, Shape{k}, Shape{n, 1}, Shape{m, 1, k}, Shape{1, n, 1}};
  return maker.loss_of(
      graph::expand(maker.graph(), maker.parameter(from[static_cast<std::size_t>(variant)]), {m, n, k}));
}

ValueId build_scale(GraphMaker& maker, int variant) {
  const ValueId x = maker.parameter(any_shape(maker, variant));
  return maker.loss_of(graph::scale(maker.graph(), x, maker.random().uniform(-2, 2)));
}

ValueId build_cast(GraphMaker& maker, int variant) {
  // There and back: the reference rounds nothing, so finite differences hold.
  const ValueId x = maker.parameter(any_shape(maker, variant));
  return maker.loss_of(graph::cast(maker.graph(), graph::cast(maker.graph(), x, DType::kBF16), DType::kF32));
}

ValueId build_sum_leading(GraphMaker& maker, int variant) {
  const ValueId x = maker.parameter({extent(maker), extent(maker), extent(maker)});
  return maker.loss_of(graph::sum_leading(maker.graph(), x, variant));
}

ValueId build_reshape(GraphMaker& maker, int variant) {
  const std::int64_t a = extent(maker), b = extent(maker), c = extent(maker);
  const ValueId x = maker.parameter({a, b, c});
  return maker.loss_of(graph::reshape(maker.graph(), x, variant == 0 ? Shape{a * b, c} : Shape{a, b * c}));
}

ValueId build_transpose(GraphMaker& maker, int variant) {
  const std::vector<std::vector<std::int64_t>> permutations = {
      {1, 0, 2, 3}, {0, 2, 1, 3}, {3, 1, 0, 2}, {2, 3, 1, 0}, {1, 2, 3, 0}};
  const ValueId x = maker.parameter({extent(maker, 4), extent(maker, 4), extent(maker, 4), extent(maker, 4)});
  return maker.loss_of(graph::transpose(maker.graph(), x, permutations[static_cast<std::size_t>(variant)]));
}

ValueId build_concat(GraphMaker& maker, int variant) {
  std::vector<std::int64_t> dims = {extent(maker), extent(maker), extent(maker)};
  const auto axis = static_cast<std::size_t>(variant % 3);
  std::vector<ValueId> parts;
  for (int part = 0; part <= variant / 2; ++part) {
    dims[axis] = extent(maker, 4);
    parts.push_back(maker.parameter(Shape(dims)));
  }
  return maker.loss_of(graph::concat(maker.graph(), parts, variant % 3 - 3));
}

ValueId build_slice(GraphMaker& maker, int variant) {
  const Shape shape = {3 + extent(maker), 3 + extent(maker), 3 + extent(maker)};
  const std::int64_t axis = variant % 3, begin = extent(maker, 3) - 1;
  const std::int64_t length = variant < 3 ? 1 : shape[axis] - begin;
  return maker.loss_of(graph::slice(maker.graph(), maker.parameter(shape), axis - 3, begin, length));
}

ValueId build_activation(GraphMaker& maker, int variant) {
  constexpr int kKinds = static_cast<int>(graph::kActivations.size());
  const Activation kind(graph::kActivations[static_cast<std::size_t>(variant % kKinds)], 0.3);
  const Shape shape = any_shape(maker, variant / kKinds);
  const ValueId x = maker.parameter_of(shape, maker.random().distinct(shape));
  return maker.loss_of(graph::activation(maker.graph(), x, kind));
}

ValueId build_swiglu(GraphMaker& maker, int variant) {
  const Shape shape = any_shape(maker, variant);
  const ValueId gate = maker.parameter(shape), up = maker.parameter(shape);
  return maker.loss_of(graph::swiglu(maker.graph(), gate, up));
}

ValueId build_linear(GraphMaker& maker, int variant) {
  std::vector<std::int64_t> dims = any_shape(maker, variant).dims();
  const std::int64_t n = extent(maker, 7);
  const ValueId x = maker.parameter(Shape(dims)), w = maker.parameter({n, dims.back()});
  const ValueId b = variant % 2 == 0 ? maker.parameter({n}) : graph::kNoValue;
  return maker.loss_of(graph::linear(maker.graph(), x, w, b));
}

ValueId build_matmul(GraphMaker& maker, int variant) {
  const bool transpose_a = variant % 2 == 1, transpose_b = variant / 2 % 2 == 1;
  const std::int64_t m = extent(maker), n = extent(maker), k = extent(maker);
  std::vector<std::int64_t> a, b;
  for (int axis = 0; axis < variant / 4; ++axis) a.push_back(extent(maker, 3));
  b = a;
  for (const std::int64_t size : transpose_a ? std::array{k, m} : std::array{m, k}) a.push_back(size);
  for (const std::int64_t size : transpose_b ? std::array{n, k} : std::array{k, n}) b.push_back(size);
  const ValueId left = maker.parameter(Shape(a)), right = maker.parameter(Shape(b));
  return maker.loss_of(graph::matmul(maker.graph(), left, right, {transpose_a, transpose_b, false}));
}

ValueId build_conv2d(GraphMaker& maker, int variant) {
  graph::Conv2dAttributes conv;
  if (variant > 0) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      conv.stride[axis] = extent(maker, 2);
      conv.padding[axis] = graph::Padding(extent(maker, 3) - 1, extent(maker, 3) - 1);
      conv.dilation[axis] = extent(maker, 2);
    }
  }
  const std::int64_t in = extent(maker, 3), out = extent(maker, 3);
  const ValueId x = maker.parameter({extent(maker, 2), 4 + extent(maker, 3), 4 + extent(maker, 3), in});
  const ValueId w = maker.parameter({out, in, extent(maker, 3), extent(maker, 3)});
  const ValueId b = variant % 2 == 0 ? maker.parameter({out}) : graph::kNoValue;
  return maker.loss_of(graph::conv2d(maker.graph(), x, w, b, conv));
}

ValueId build_max_pool2d(GraphMaker& maker, int variant) {
  graph::Pool2dAttributes pool;
  if (variant > 1) {
    pool.kernel = {extent(maker, 3), extent(maker, 3)};
    pool.stride = {extent(maker, 3), extent(maker, 3)};
    for (std::size_t axis = 0; axis < 2; ++axis) pool.padding[axis] = {pool.kernel[axis] - 1, pool.kernel[axis] / 2};
  }
  const Shape shape = {extent(maker, 2), 2 + extent(maker, 4), 2 + extent(maker, 4), extent(maker, 3)};
  const ValueId x = maker.parameter_of(shape, maker.random().distinct(shape, 0.05));
  return maker.loss_of(graph::max_pool2d(maker.graph(), x, pool));
}

ValueId build_avg_pool2d(GraphMaker& maker, int variant) {
  graph::Pool2dAttributes pool;
  if (variant > 1) {
    pool.kernel = {extent(maker, 3), extent(maker, 3)};
    pool.stride = {extent(maker, 3), extent(maker, 3)};
    for (std::size_t axis = 0; axis < 2; ++axis) pool.padding[axis] = {pool.kernel[axis] - 1, pool.kernel[axis] / 2};
  }
  const ValueId x = maker.parameter({extent(maker, 2), 2 + extent(maker, 4), 2 + extent(maker, 4), extent(maker, 3)});
  return maker.loss_of(graph::avg_pool2d(maker.graph(), x, pool));
}

ValueId build_layernorm(GraphMaker& maker, int variant) {
  // An even spread keeps the variance away from 0, where finite differences would need a smaller step.
  std::vector<std::int64_t> dims = any_shape(maker, variant).dims();
  dims.back() = variant == 0 ? 1 : 3 + extent(maker);
  const ValueId x = maker.parameter_of(Shape(dims), maker.random().distinct(Shape(dims), 0.3));
  const ValueId gamma = maker.parameter({dims.back()}), beta = maker.parameter({dims.back()});
  return maker.loss_of(graph::layernorm(maker.graph(), x, gamma, beta, variant == 0 ? 0.1 : 1e-5));
}

ValueId build_rmsnorm(GraphMaker& maker, int variant) {
  const Shape shape = any_shape(maker, variant);
  const ValueId x = maker.parameter_of(shape, maker.random().distinct(shape, 0.3));
  return maker.loss_of(graph::rmsnorm(maker.graph(), x, maker.parameter({shape[-1]}), variant % 2 == 0 ? 0.1 : 1e-3));
}

ValueId build_softmax(GraphMaker& maker, int variant) {
  return maker.loss_of(graph::softmax(maker.graph(), maker.parameter(any_shape(maker, variant))));
}

ValueId build_cross_entropy(GraphMaker& maker, int variant) {
  std::vector<std::int64_t> dims = any_shape(maker, variant).dims();
  const std::int64_t classes = variant == 0 ? 1 : 1 + extent(maker);
  const ValueId labels = maker.ids(Shape(dims), 0, classes - 1);
  dims.push_back(classes);
  const ValueId loss = graph::cross_entropy(maker.graph(), maker.parameter(Shape(dims)), labels);
  return variant % 2 == 0 ? loss : graph::scale(maker.graph(), loss, 0.7);
}

ValueId build_mse(GraphMaker& maker, int variant) {
  const ValueId loss = maker.loss_of(maker.parameter(any_shape(maker, variant)));
  return variant % 2 == 0 ? loss : graph::scale(maker.graph(), loss, -1.3);
}

ValueId build_bce_with_logits(GraphMaker& maker, int variant) {
  const Shape shape = any_shape(maker, variant);
  const ValueId logits = maker.parameter(shape), target = maker.input(shape, 0, 1);
  const ValueId loss = graph::bce_with_logits(maker.graph(), logits, target);
  return variant % 2 == 0 ? loss : graph::scale(maker.graph(), loss, -1.3);
}

ValueId build_batchnorm(GraphMaker& maker, int variant) {
  std::vector<std::int64_t> dims = {1 + extent(maker)};  // two rows at least
  for (int axis = 0; axis <= variant % 3; ++axis) dims.push_back(extent(maker));
  const ValueId x = maker.parameter(Shape(dims)), gamma = maker.parameter({dims.back()});
  const ValueId beta = maker.parameter({dims.back()});
  return maker.loss_of(graph::batchnorm(maker.graph(), x, gamma, beta, maker.statistic({dims.back()}),
                                        maker.statistic({dims.back()}), true));
}

ValueId build_embedding(GraphMaker& maker, int variant) {
  const std::int64_t rows = extent(maker), n = extent(maker);
  const ValueId table = maker.parameter({rows, n});
  const ValueId ids = maker.ids(any_shape(maker, variant), 0, rows - 1);
  return maker.loss_of(graph::embedding(maker.graph(), table, ids));
}

ValueId build_position_embedding(GraphMaker& maker, int variant) {
  std::vector<std::int64_t> dims = any_shape(maker, variant).dims();
  dims.insert(dims.end() - 1, extent(maker));
  const ValueId x = maker.parameter(Shape(dims));
  const ValueId table = maker.parameter({dims[dims.size() - 2] + variant % 2, dims.back()});
  return maker.loss_of(graph::position_embedding(maker.graph(), x, table));
}

ValueId build_grouped_linear(GraphMaker& maker, int variant) {
  const std::int64_t groups = extent(maker, 3), n = extent(maker), k = extent(maker);
  Tensor offsets = {0};
  for (std::int64_t group = 0; group < groups; ++group) {
    offsets.push_back(offsets.back() + static_cast<double>(maker.random().integer(0, 3)));
  }
  const std::int64_t rows = static_cast<std::int64_t>(offsets.back()) + variant % 2;  // perhaps one of no group
  const ValueId x = maker.parameter({std::max<std::int64_t>(rows, 1), k}), w = maker.parameter({groups, n, k});
  const ValueId b = variant % 3 == 0 ? graph::kNoValue : maker.parameter({groups, n});
  return maker.loss_of(graph::grouped_linear(maker.graph(), x, w, maker.ids_of(offsets), b));
}

// A mixture whole, so that the gradients of all its ops are needed. Choices change where two logits are equal, so the
// logits differ; capacities drop some.
ValueId build_moe(GraphMaker& maker, int variant) {
  const std::int64_t tokens = variant == 0 ? 1 : 2 + extent(maker), experts = variant == 0 ? 1 : 1 + extent(maker, 4);
  const std::int64_t choices = maker.random().integer(1, experts), n = extent(maker);
  graph::Graph& graph = maker.graph();
  const Shape shape = {tokens, experts};
  const ValueId logits = maker.parameter_of(shape, maker.random().distinct(shape, 0.1));
  const graph::MoeRouting routing =
      graph::moe_route(graph, logits, {choices, graph::expert_capacity(tokens, experts, choices, 0.3 + 0.3 * variant)});
  const ValueId x = maker.parameter({tokens, n}), factors = maker.parameter({tokens * choices, n});
  const ValueId y = graph::mul(graph, graph::moe_dispatch(graph, x, routing), factors);
  const ValueId loss = maker.loss_of(graph::moe_combine(graph, y, routing));
  return variant % 2 == 0 ? graph::add(graph, loss, graph::scale(graph, routing.balance, 0.7)) : loss;
}

ValueId build_rotary(GraphMaker& maker, int variant) {
  const std::int64_t heads = extent(maker, 3), size = 2 * extent(maker, 3);
  const ValueId x = maker.parameter({extent(maker, 2), extent(maker), heads * size + variant % 3});
  return maker.loss_of(graph::rotary(maker.graph(), x, {heads, size, variant == 0 ? 10.0 : 10000.0, variant % 2 == 1}));
}

ValueId build_attention(GraphMaker& maker, int variant) {
  const std::int64_t kv_heads = variant < 2 ? 1 : extent(maker, 3), size = variant < 2 ? 1 : extent(maker, 4);
  const std::int64_t heads = kv_heads * (variant < 8 ? 1 : extent(maker, 3));
  const ValueId qkv = maker.parameter({extent(maker, 2), extent(maker), (heads + 2 * kv_heads) * size});
  return maker.loss_of(graph::attention(maker.graph(), qkv, {heads, variant % 2 == 0, kv_heads}));
}

ValueId build_recurrent(GraphMaker& maker, int variant) {
  const auto cell = static_cast<graph::Cell>(variant % 2);
  const bool last = variant / 2 % 2 == 1, first_layer = variant / 4 % 2 == 1;
  const std::int64_t features = extent(maker, 4), hidden = extent(maker, 4);
  const std::int64_t rows = graph::gates_of(cell) * hidden;
  const Shape shape{extent(maker, 3), variant < 2 ? 1 : 1 + extent(maker, 4), features};
  const ValueId x = first_layer ? maker.input(shape) : maker.parameter(shape);
  const graph::RecurrentWeights weights = {maker.parameter({rows, features}, -1, 1),
                                           maker.parameter({rows, hidden}, -1, 1), maker.parameter({rows}, -1, 1),
                                           maker.parameter({rows}, -1, 1)};
  return maker.loss_of(graph::recurrent(maker.graph(), x, weights, {cell, last}));
}

ValueId build_dropout(GraphMaker& maker, int variant) {
  maker.set_position(maker.random().integer(0, 1 << 20), 3, 1, variant);
  const ValueId x = maker.parameter({2 + extent(maker), 3 + extent(maker)});
  return maker.loss_of(graph::dropout(maker.graph(), x, {0.2 * variant, variant}));
}

}  // namespace

std::span<const GradientRow> gradient_rows() {
  static constexpr std::array kRows = {
      GradientRow{graph::add_op, 8, build_add},
      GradientRow{graph::sub_op, 8, build_sub},
      GradientRow{graph::mul_op, 8, build_mul},
      GradientRow{graph::div_op, 8, build_div},
      GradientRow{graph::scale_op, 4, build_scale},
      GradientRow{graph::cast_op, 4, build_cast},
      GradientRow{graph::reduce_op, 12, build_reduce},
      GradientRow{graph::expand_op, 5, build_expand},
      GradientRow{graph::sum_leading_op, 4, build_sum_leading},
      GradientRow{graph::reshape_op, 2, build_reshape},
      GradientRow{graph::transpose_op, 5, build_transpose},
      GradientRow{graph::concat_op, 6, build_concat},
      GradientRow{graph::slice_op, 6, build_slice},
      GradientRow{graph::activation_op, 21, build_activation},
      GradientRow{graph::swiglu_op, 4, build_swiglu},
      GradientRow{graph::linear_op, 6, build_linear},
      GradientRow{graph::matmul_op, 12, build_matmul},
      GradientRow{graph::conv2d_op, 8, build_conv2d},
      GradientRow{graph::max_pool2d_op, 6, build_max_pool2d},
      GradientRow{graph::avg_pool2d_op, 6, build_avg_pool2d},
      GradientRow{graph::layernorm_op, 6, build_layernorm},
      GradientRow{graph::rmsnorm_op, 6, build_rmsnorm},
      GradientRow{graph::batchnorm_op, 6, build_batchnorm},
      GradientRow{graph::softmax_op, 5, build_softmax},
      GradientRow{graph::cross_entropy_op, 6, build_cross_entropy},
      GradientRow{graph::mse_op, 4, build_mse},
      GradientRow{graph::bce_with_logits_op, 4, build_bce_with_logits},
      GradientRow{graph::embedding_op, 5, build_embedding},
      GradientRow{graph::position_embedding_op, 6, build_position_embedding},
      GradientRow{graph::recurrent_op, 12, build_recurrent},
      GradientRow{graph::grouped_linear_op, 6, build_grouped_linear},
      GradientRow{graph::moe_route_op, 8, build_moe},
      GradientRow{graph::moe_dispatch_op, 4, build_moe},
      GradientRow{graph::moe_combine_op, 4, build_moe},
      GradientRow{graph::rotary_op, 6, build_rotary},
      GradientRow{graph::attention_op, 12, build_attention},
      GradientRow{graph::dropout_op, 4, build_dropout},
  };
  return kRows;
}

}  // namespace headway::ops_test
