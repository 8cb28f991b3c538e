// Impossible operands: each op refuses them with its name and the shapes in the message.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "graph/ops/activation.h"
#include "graph/ops/all.h"
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
#include "graph/ops/optimizer.h"
#include "graph/ops/pool.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reduce.h"
#include "graph/ops/rmsnorm.h"
#include "graph/ops/rotary.h"
#include "graph/ops/shape_ops.h"
#include "graph/ops/softmax.h"
#include "graph/ops/swiglu.h"
#include "tests/ops/op_case.h"

namespace headway::ops_test {
namespace {

using graph::TensorType;

TensorType f32(Shape shape) {
  return {DType::kF32, std::move(shape)};
}
TensorType i32(Shape shape) {
  return {DType::kI32, std::move(shape)};
}
TensorType i64(Shape shape) {
  return {DType::kI64, std::move(shape)};
}
TensorType u8(Shape shape) {
  return {DType::kU8, std::move(shape)};
}

struct Impossible {
  const graph::Op* op = nullptr;
  graph::Attributes attributes;
  std::vector<TensorType> inputs;
  std::vector<std::size_t> named;  // operands whose shapes must be in the message
};

std::vector<Impossible> products() {
  const graph::Attributes linear = graph::LinearAttributes{}.to_attributes();
  const graph::Attributes matmul = graph::MatmulAttributes{}.to_attributes();
  const graph::Attributes flat = graph::MatmulAttributes{false, false, true}.to_attributes();
  const auto group_bias = graph::GroupedLinearGradWeightAttributes{true}.to_attributes();
  const graph::Attributes two_heads = graph::AttentionAttributes{2, true}.to_attributes();
  return {
      {&graph::linear_op(), linear, {f32({3, 5}), f32({7, 6})}, {0, 1}},
      {&graph::linear_op(), linear, {f32({3, 5}), f32({5})}, {0, 1}},
      {&graph::linear_op(), linear, {f32({}), f32({7, 6})}, {0, 1}},
      {&graph::linear_op(), linear, {f32({3, 5}), f32({7, 5}), f32({6})}, {0, 1, 2}},
      {&graph::matmul_op(), matmul, {f32({64, 128}), f32({256, 10})}, {0, 1}},
      {&graph::matmul_op(), matmul, {f32({2, 3, 4}), f32({5, 4, 6})}, {0, 1}},
      {&graph::matmul_op(), matmul, {f32({2, 3, 4}), f32({4, 6})}, {0, 1}},
      {&graph::matmul_op(), matmul, {f32({4}), f32({4, 6})}, {0, 1}},
      {&graph::matmul_op(), flat, {f32({2, 3, 4}), f32({5, 6})}, {0, 1}},
      {&graph::grouped_linear_op(), linear, {f32({3, 5}), f32({2, 7, 6}), i32({3})}, {0, 1}},
      {&graph::grouped_linear_op(), linear, {f32({3, 5}), f32({2, 7, 5}), i32({2})}, {1, 2}},
      {&graph::grouped_linear_op(), linear, {f32({3, 5}), f32({2, 7, 5}), i32({3}), f32({7})}, {1, 3}},
      {&graph::grouped_linear_grad_input_op(), {}, {f32({3, 5}), f32({2, 7, 5}), i32({3})}, {0, 1}},
      {&graph::grouped_linear_grad_weight_op(), group_bias, {f32({3, 5}), f32({4, 5}), i32({3})}, {0, 1}},
      {&graph::grouped_linear_grad_weight_op(), group_bias, {f32({3, 5}), f32({3, 5}), f32({3})}, {2}},
      {&graph::attention_op(), two_heads, {f32({2, 4, 10})}, {0}},
      {&graph::attention_op(), two_heads, {f32({4, 12})}, {0}},
      {&graph::attention_op(), graph::AttentionAttributes{3, true, 2}.to_attributes(), {f32({2, 4, 14})}, {0}},
      {&graph::rotary_op(), graph::RotaryAttributes{2, 3}.to_attributes(), {f32({2, 4, 12})}, {0}},
      {&graph::rotary_op(), graph::RotaryAttributes{2, 8}.to_attributes(), {f32({2, 4, 12})}, {0}},
      {&graph::rotary_op(), graph::RotaryAttributes{2, 2}.to_attributes(), {f32({4, 12})}, {0}},
      {&graph::attention_grad_op(),
       two_heads,
       {f32({2, 4, 5}), f32({2, 4, 12}), f32({2, 4, 4}), f32({2, 2, 4})},
       {0, 1}},
      {&graph::attention_grad_op(),
       two_heads,
       {f32({2, 4, 4}), f32({2, 4, 12}), f32({2, 4, 4}), f32({2, 4, 2})},
       {1, 3}},
  };
}

std::vector<Impossible> recurrences() {
  const auto lstm = graph::RecurrentAttributes{graph::Cell::kLstm, false}.to_attributes();
  const auto gru = graph::RecurrentAttributes{graph::Cell::kGru, true}.to_attributes();
  const auto lstm_grad = graph::RecurrentGradAttributes{graph::Cell::kLstm, false, true}.to_attributes();
  const auto gru_grad = graph::RecurrentGradAttributes{graph::Cell::kGru, true, false}.to_attributes();
  const TensorType x = f32({2, 7, 5}), ih = f32({12, 5}), hh = f32({12, 3}), bias = f32({12}), y = f32({2, 7, 3});
  const TensorType activations = f32({7, 2, 12}), states = f32({7, 2, 3});
  return {
      {&graph::recurrent_op(), lstm, {f32({7, 5}), ih, hh, bias, bias}, {0}},
      {&graph::recurrent_op(), lstm, {f32({2, 0, 5}), ih, hh, bias, bias}, {0}},
      {&graph::recurrent_op(), lstm, {f32({2, 7, 4}), ih, hh, bias, bias}, {0, 1}},
      {&graph::recurrent_op(), lstm, {x, ih, f32({12, 4}), bias, bias}, {2}},
      {&graph::recurrent_op(), gru, {x, ih, hh, bias, bias}, {2}},
      {&graph::recurrent_op(), lstm, {x, ih, hh, bias, f32({11})}, {4}},
      {&graph::recurrent_grad_op(), lstm_grad, {f32({2, 3}), x, ih, hh, activations, states}, {0, 1}},
      {&graph::recurrent_grad_op(), lstm_grad, {y, x, ih, hh, f32({2, 7, 12}), states}, {1, 4}},
      {&graph::recurrent_grad_op(), lstm_grad, {y, x, ih, hh, activations, f32({7, 3, 2})}, {1, 5}},
      {&graph::recurrent_grad_op(),
       gru_grad,
       {f32({2, 4}), x, ih, f32({12, 4}), f32({7, 2, 12}), f32({7, 2, 4}), f32({7, 2, 5})},
       {1, 6}},
  };
}

std::vector<Impossible> images() {
  const graph::Attributes conv = graph::Conv2dAttributes{}.to_attributes();
  const graph::Attributes pool = graph::Pool2dAttributes{}.to_attributes();
  const auto grad_input = graph::Conv2dGradInputAttributes{{}, {1, 5, 5, 2}}.to_attributes();
  const graph::Conv2dAttributes relu{.activation = graph::Activation::kRelu};
  const auto activated = graph::Conv2dGradInputAttributes{relu, {1, 5, 5, 2}}.to_attributes();
  const auto grad_weight = graph::Conv2dGradWeightAttributes{{}, {3, 3}, true}.to_attributes();
  const auto pool_grad = graph::Pool2dGradAttributes{{}, {1, 4, 4, 2}}.to_attributes();
  return {
      {&graph::conv2d_op(), conv, {f32({1, 5, 5, 2}), f32({4, 3, 3, 3})}, {0, 1}},
      {&graph::conv2d_op(), conv, {f32({1, 5, 2, 2}), f32({4, 2, 3, 3})}, {0, 1}},
      {&graph::conv2d_op(), conv, {f32({5, 5, 2}), f32({4, 2, 3, 3})}, {0, 1}},
      {&graph::conv2d_op(), conv, {f32({1, 5, 5, 2}), f32({4, 2, 3, 3}), f32({2})}, {0, 1, 2}},
      {&graph::conv2d_grad_input_op(), grad_input, {f32({1, 4, 3, 4}), f32({4, 2, 3, 3})}, {0, 1}},
      {&graph::conv2d_grad_input_op(), grad_input, {f32({1, 3, 3, 4}), f32({4, 3, 3, 3})}, {0, 1}},
      {&graph::conv2d_grad_weight_op(), grad_weight, {f32({1, 4, 3, 4}), f32({1, 5, 5, 2})}, {0, 1}},
      {&graph::conv2d_grad_weight_op(), grad_weight, {f32({2, 3, 3, 4}), f32({1, 5, 5, 2})}, {0, 1}},
      {&graph::conv2d_grad_input_op(), activated, {f32({1, 3, 3, 4}), f32({4, 2, 3, 3}), f32({1, 3, 2, 4})}, {0, 2}},
      {&graph::max_pool2d_op(), pool, {f32({1, 1, 4, 2})}, {0}},
      {&graph::max_pool2d_op(), pool, {f32({4, 4, 2})}, {0}},
      {&graph::max_pool2d_grad_op(), pool_grad, {f32({1, 2, 3, 2}), u8({1, 2, 2, 2})}, {0, 1}},
      {&graph::max_pool2d_grad_op(), pool_grad, {f32({1, 2, 2, 2}), f32({1, 2, 2, 2})}, {0, 1}},
      {&graph::avg_pool2d_op(), pool, {f32({1, 1, 4, 2})}, {0}},
      {&graph::avg_pool2d_op(), pool, {f32({4, 4, 2})}, {0}},
      {&graph::avg_pool2d_grad_op(), pool_grad, {f32({1, 2, 3, 2})}, {0}},
  };
}

std::vector<Impossible> rows() {
  const graph::Attributes norm = graph::LayerNormAttributes{}.to_attributes();
  const auto residual = graph::LayerNormAttributes{1e-5, graph::Activation::kNone, true}.to_attributes();
  const graph::Attributes norm_grad = graph::LayerNormGradAttributes{}.to_attributes();
  const graph::Attributes rms = graph::RmsNormAttributes{}.to_attributes();
  const graph::Attributes rms_grad = graph::RmsNormGradAttributes{}.to_attributes();
  const TensorType x = f32({3, 5}), w = f32({5}), row = f32({3});
  return {
      {&graph::layernorm_op(), norm, {x, f32({4}), w}, {0, 1}},
      {&graph::layernorm_op(), norm, {x, w, f32({3})}, {0, 2}},
      {&graph::layernorm_op(), norm, {f32({}), w, w}, {0, 1}},
      {&graph::layernorm_op(), residual, {x, w, w, f32({5, 3})}, {0, 3}},
      {&graph::layernorm_grad_op(), norm_grad, {f32({3, 4}), x, row, row, w, w}, {0, 1}},
      {&graph::layernorm_grad_op(), norm_grad, {x, x, f32({4}), row, w, w}, {1, 2}},
      {&graph::layernorm_grad_op(), norm_grad, {x, x, row, row, f32({4}), w}, {1, 4}},
      {&graph::rmsnorm_op(), rms, {x, f32({4})}, {0, 1}},
      {&graph::rmsnorm_op(), rms, {f32({}), w}, {0, 1}},
      {&graph::rmsnorm_op(), graph::RmsNormAttributes{1e-5, true}.to_attributes(), {x, w, f32({5, 3})}, {0, 2}},
      {&graph::rmsnorm_grad_op(), rms_grad, {f32({3, 4}), x, row, w}, {0, 1}},
      {&graph::rmsnorm_grad_op(), rms_grad, {x, x, f32({4}), w}, {1, 2}},
      {&graph::rmsnorm_grad_op(), rms_grad, {x, x, row, f32({4})}, {1, 3}},
      {&graph::softmax_op(), {}, {f32({})}, {0}},
      {&graph::softmax_grad_op(), {}, {x, f32({3, 4})}, {0, 1}},
      {&graph::embedding_op(), {}, {f32({5}), i32({2, 3})}, {0, 1}},
      {&graph::embedding_op(), {}, {f32({5, 4}), f32({2, 3})}, {0, 1}},
      {&graph::embedding_grad_op(),
       graph::EmbeddingGradAttributes{9}.to_attributes(),
       {f32({2, 3, 4}), i32({3, 2})},
       {0, 1}},
      {&graph::position_embedding_op(), {}, {f32({2, 3, 4}), f32({2, 4})}, {0, 1}},
      {&graph::position_embedding_op(), {}, {f32({2, 3, 4}), f32({5, 3})}, {0, 1}},
      {&graph::position_embedding_grad_op(), graph::EmbeddingGradAttributes{2}.to_attributes(), {f32({2, 3, 4})}, {0}},
      {&graph::reshape_op(), {{"shape", std::vector<std::int64_t>{4, 4}}}, {x}, {0}},
      {&graph::transpose_op(), graph::TransposeAttributes{{0, 0}}.to_attributes(), {x}, {0}},
      {&graph::transpose_op(), graph::TransposeAttributes{{0, 1, 2}}.to_attributes(), {x}, {0}},
  };
}

std::vector<Impossible> mixtures() {
  const auto route = [](std::int64_t choices, std::int64_t capacity) {
    return graph::MoeRouteAttributes{choices, capacity}.to_attributes();
  };
  const TensorType x = f32({3, 5}), rows = i32({3, 2}), sources = i32({6});
  return {
      {&graph::moe_route_op(), route(2, 4), {f32({3})}, {0}},
      {&graph::moe_route_op(), route(1, 4), {f32({3, 0})}, {0}},
      {&graph::moe_route_op(), route(6, 4), {x}, {0}},
      {&graph::moe_route_op(), route(0, 4), {x}, {0}},
      {&graph::moe_route_op(), route(2, 0), {x}, {0}},
      {&graph::moe_route_grad_op(), {}, {f32({3, 2}), f32({}), x, rows, i32({3, 1}), f32({5})}, {0, 4}},
      {&graph::moe_route_grad_op(), {}, {f32({3, 2}), f32({}), x, rows, rows, f32({4})}, {2, 5}},
      {&graph::moe_dispatch_op(), {}, {f32({4, 5}), rows, sources}, {0, 1}},
      {&graph::moe_dispatch_op(), {}, {x, rows, i32({5})}, {1, 2}},
      {&graph::moe_dispatch_op(), {}, {x, rows, sources, f32({6})}, {1, 3}},
      {&graph::moe_combine_op(), {}, {x, rows, sources}, {0, 2}},
      {&graph::moe_weight_grad_op(), {}, {x, f32({6, 4}), rows}, {0, 1}},
      {&graph::moe_weight_grad_op(), {}, {f32({2, 5}), f32({6, 5}), rows}, {0, 2}},
  };
}

std::vector<Impossible> losses() {
  const graph::Attributes plain = graph::CrossEntropyAttributes{false}.to_attributes();
  const graph::Attributes fused = graph::CrossEntropyAttributes{true}.to_attributes();
  const TensorType logits = f32({3, 5}), labels = i32({3}), wrong = i32({4});
  return {
      {&graph::cross_entropy_op(), plain, {logits, wrong}, {0, 1}},
      {&graph::cross_entropy_op(), plain, {logits, f32({3})}, {0, 1}},
      {&graph::cross_entropy_op(), fused, {logits, labels, f32({2})}, {0, 1, 2}},
      {&graph::cross_entropy_grad_op(), {}, {logits, labels, f32({4}), f32({})}, {0, 2}},
      {&graph::cross_entropy_grad_op(), {}, {logits, wrong, f32({3}), f32({})}, {0, 1}},
      {&graph::cross_entropy_grad_op(), {}, {logits, labels, f32({3}), f32({1})}, {0, 3}},
      {&graph::mse_op(), {}, {logits, f32({5, 3})}, {0, 1}},
      {&graph::mse_grad_op(), {}, {logits, f32({5, 3}), f32({})}, {0, 1}},
      {&graph::mse_grad_op(), {}, {logits, logits, f32({2})}, {0, 2}},
      {&graph::bce_with_logits_op(), {}, {logits, f32({5, 3})}, {0, 1}},
      {&graph::bce_with_logits_op(), {}, {logits, i32({3, 5})}, {0, 1}},
      {&graph::bce_with_logits_grad_op(), {}, {logits, f32({5, 3}), f32({})}, {0, 1}},
      {&graph::bce_with_logits_grad_op(), {}, {logits, logits, f32({2})}, {0, 2}},
      {&graph::count_correct_op(), {}, {logits, wrong}, {0, 1}},
  };
}

std::vector<Impossible> batchnorms() {
  const graph::Attributes training = graph::BatchNormAttributes{}.to_attributes();
  const auto evaluation = graph::BatchNormAttributes{1e-5, 0.1, {}, true}.to_attributes();
  const graph::Attributes plain = graph::BatchNormGradAttributes{}.to_attributes();
  const auto after_gelu = graph::BatchNormGradAttributes{{}, graph::Activation::kGeluErf}.to_attributes();
  const auto both = graph::BatchNormGradAttributes{graph::Activation::kRelu, graph::Activation::kRelu}.to_attributes();
  const TensorType x = f32({3, 5}), c = f32({5}), wrong = f32({4}), row = f32({1, 5});
  return {
      {&graph::batchnorm_op(), training, {x, c, c, c, wrong}, {0, 4}},
      {&graph::batchnorm_op(), evaluation, {x, wrong, c, c, c}, {0, 1}},
      {&graph::batchnorm_op(), training, {row, c, c, c, c}, {0}},
      {&graph::batchnorm_grad_op(), plain, {f32({4, 5}), x, c, c, c, c}, {0, 1}},
      {&graph::batchnorm_grad_op(), plain, {x, x, c, wrong, c, c}, {1, 3}},
      {&graph::batchnorm_grad_op(), plain, {row, row, c, c, c, c}, {1}},
      {&graph::batchnorm_grad_op(), after_gelu, {x, x, c, c, c, c}, {1}},
      {&graph::batchnorm_grad_op(), both, {x, x, c, c, c, c}, {1}},
  };
}

std::vector<Impossible> parts() {
  const auto join = [](std::int64_t axis) { return graph::ConcatAttributes{axis}.to_attributes(); };
  const auto cut = [](std::int64_t axis, std::int64_t begin, std::int64_t length) {
    return graph::SliceAttributes{axis, begin, length}.to_attributes();
  };
  const auto grad = graph::SliceGradAttributes{{1, 2, 2}, {3, 5}}.to_attributes();
  return {
      {&graph::concat_op(), join(1), {f32({3, 5}), f32({4, 5})}, {0, 1}},
      {&graph::concat_op(), join(2), {f32({3, 5}), f32({3, 5})}, {0, 1}},
      {&graph::concat_op(), join(0), {f32({3, 5}), f32({3, 5, 1})}, {0, 1}},
      {&graph::concat_op(), join(0), {f32({3, 5}), i32({3, 5})}, {0, 1}},
      {&graph::slice_op(), cut(1, 3, 3), {f32({3, 5})}, {0}},
      {&graph::slice_op(), cut(1, -1, 3), {f32({3, 5})}, {0}},
      {&graph::slice_op(), cut(2, 0, 1), {f32({3, 5})}, {0}},
      {&graph::slice_grad_op(), grad, {f32({3, 3})}, {0}},
      {&graph::slice_grad_op(), grad, {f32({4, 2})}, {0}},
  };
}

std::vector<Impossible> elements() {
  const graph::Attributes relu = graph::ActivationAttributes{graph::Activation::kRelu}.to_attributes();
  const auto falling = graph::ActivationAttributes{{graph::Activation::kLeakyRelu, -0.1}}.to_attributes();
  const auto relu_grad = graph::ActivationGradAttributes{graph::Activation::kRelu, false}.to_attributes();
  const auto bias_grad = graph::ActivationGradAttributes{graph::Activation::kRelu, true}.to_attributes();
  return {
      {&graph::activation_op(), relu, {f32({2}), f32({3})}, {0, 1}},
      {&graph::activation_op(), falling, {f32({2})}, {0}},
      {&graph::activation_grad_op(), relu_grad, {f32({3, 5}), f32({3, 4})}, {0, 1}},
      {&graph::activation_grad_op(), bias_grad, {f32({}), f32({})}, {0, 1}},
      {&graph::swiglu_op(), {}, {f32({3, 5}), f32({5})}, {0, 1}},
      {&graph::swiglu_grad_op(), {}, {f32({3, 5}), f32({3, 5}), f32({3, 4})}, {0, 2}},
      {&graph::add_op(), {}, {f32({3, 5}), f32({3})}, {0, 1}},
      {&graph::add_op(), {}, {f32({4}), f32({3, 5})}, {0, 1}},
      {&graph::sub_op(), {}, {f32({2, 3, 5}), f32({2, 1, 4})}, {0, 1}},
      {&graph::div_op(), {}, {f32({3, 5}), f32({4, 1})}, {0, 1}},
      {&graph::div_op(), {}, {f32({3, 5}), i32({3, 5})}, {0, 1}},
      {&graph::mul_op(), {}, {f32({3, 5}), f32({4})}, {0, 1}},
      {&graph::mul_op(), {}, {f32({3, 5}), i32({5})}, {0, 1}},
      {&graph::scale_op(), graph::ScaleAttributes{2}.to_attributes(), {f32({2}), f32({3})}, {0, 1}},
      {&graph::fill_op(), graph::FillAttributes{1, {2}}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::cast_op(), graph::CastAttributes{DType::kF32}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::cast_op(), graph::CastAttributes{DType::kBF16}.to_attributes(), {i32({2, 7})}, {0}},
      {&graph::reduce_op(), graph::ReduceAttributes{1, 2}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::reduce_op(), graph::ReduceAttributes{-1, 1}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::reduce_op(), graph::ReduceAttributes{0, 0}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::expand_op(), graph::ExpandAttributes{{2, 6}}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::expand_op(), graph::ExpandAttributes{{7}}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::expand_op(), graph::ExpandAttributes{{2, 1}}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::sum_leading_op(), graph::SumLeadingAttributes{3}.to_attributes(), {f32({2, 7})}, {0}},
      {&graph::accumulate_op(), {}, {f32({3, 5}), f32({5, 3}), i64({4})}, {0, 1}},
      {&graph::dropout_op(), graph::DropoutAttributes{0.5, 0}.to_attributes(), {f32({3, 5}), i64({3})}, {0, 1}},
      {&graph::dropout_op(), graph::DropoutAttributes{1.0, 0}.to_attributes(), {f32({3, 5}), i64({4})}, {0, 1}},
  };
}

std::vector<Impossible> updates() {
  graph::AdamWAttributes adamw;
  adamw.decay_mask = {1};
  graph::SgdAttributes sgd;
  sgd.decay_mask = {1};
  const TensorType hyper = f32({4}), p = f32({3, 5});
  return {
      {&graph::grad_norm_op(), graph::GradNormAttributes{}.to_attributes(), {}, {}},
      {&graph::adamw_op(), adamw.to_attributes(), {hyper, p, f32({5, 3}), p, p}, {1, 2}},
      {&graph::adamw_op(), adamw.to_attributes(), {hyper, p, p, p, f32({15})}, {1, 4}},
      {&graph::adamw_op(), adamw.to_attributes(), {f32({3}), p, p, p, p}, {0}},
      {&graph::adamw_op(), adamw.to_attributes(), {hyper, p, p, p}, {}},
      {&graph::adamw_op(), adamw.to_attributes(), {hyper, p, p, p, p, p, p, p, p}, {}},
      {&graph::sgd_op(), sgd.to_attributes(), {hyper, p, f32({5, 3})}, {1, 2}},
      {&graph::sgd_op(), sgd.to_attributes(), {hyper, p, p, p}, {}},
  };
}

std::vector<Impossible> all_impossible() {
  std::vector<Impossible> all;
  for (const auto& part : {products(), recurrences(), images(), rows(), batchnorms(), mixtures(), losses(), parts(),
                           elements(), updates()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(Infer, ImpossibleOperandsAreRefusedByNameAndShape) {
  for (const Impossible& test : all_impossible()) {
    const std::string name(test.op->name());
    try {
      test.op->infer(test.attributes, test.inputs);
      ADD_FAILURE() << name << " accepts impossible operands " << graph::to_string(test.attributes);
    } catch (const UserError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.rfind(name + ": ", 0), 0U) << message;
      for (const std::size_t index : test.named) {
        EXPECT_NE(message.find(to_string(test.inputs[index].shape)), std::string::npos)
            << message << " does not name operand " << index;
      }
    }
  }
}

TEST(Infer, TheMessageReadsAsInTheDesign) {
  try {
    graph::matmul_op().infer(graph::MatmulAttributes{}.to_attributes(), std::vector{f32({64, 128}), f32({256, 10})});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "matmul: inner sizes differ: f32[64, 128] x f32[256, 10]");
  }
}

TEST(Infer, EveryOpIsTestedAndCountsItsOperands) {
  const std::vector<Impossible> all = all_impossible();
  for (const graph::Op* op : graph::all_ops()) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Impossible& test) { return test.op == op; }))
        << op->name() << " needs a row in infer_test.cpp";
    // A case of the op with an operand too many, by one that fits nowhere.
    for (const OpCase& test : small_cases_of(*op)) {
      if (op == &graph::grad_norm_op()) break;  // takes any number
      std::vector<TensorType> types = test.input_types;
      types.push_back(f32({97, 89}));
      if (op == &graph::linear_op() || op == &graph::conv2d_op() || op == &graph::grouped_linear_op() ||
          op == &graph::moe_dispatch_op() || op == &graph::moe_combine_op()) {
        types.push_back(f32({97, 89}));
      }
      EXPECT_THROW(op->infer(test.attributes, types), UserError) << test.label;
      break;
    }
  }
}

}  // namespace
}  // namespace headway::ops_test
