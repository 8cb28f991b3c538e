#include "tests/ops/tolerances.h"

#include <array>

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
#include "graph/ops/optimizer.h"
#include "graph/ops/pool.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reduce.h"
#include "graph/ops/rmsnorm.h"
#include "graph/ops/rotary.h"
#include "graph/ops/shape_ops.h"
#include "graph/ops/softmax.h"
#include "graph/ops/swiglu.h"

namespace headway::ops_test {
namespace {

// Moves and choices: every bit.
constexpr Tolerance kExact = {0, 0};
// One or two roundings of f32 (2^-24 = 6e-8), no cancellation.
constexpr Tolerance kRounded = {3e-7, 1e-12};
// A few operations on elements of size 1, results may cancel.
constexpr Tolerance kElement = {1e-6, 1e-6};
// A polynomial or rational approximation on top.
constexpr Tolerance kFunction = {4e-6, 4e-6};
// Sums of up to some thousand products of elements of size 1, in f32.
constexpr Tolerance kSum = {1e-5, 5e-5};

}  // namespace

std::span<const ToleranceRow> tolerance_table() {
  static constexpr std::array kRows = {
      ToleranceRow{graph::linear_op, DType::kF32, kSum},
      ToleranceRow{graph::linear_op, DType::kBF16, kSum},  // of the rounded operands: their products are exact
      ToleranceRow{graph::matmul_op, DType::kF32, kSum},
      ToleranceRow{graph::matmul_op, DType::kBF16, kSum},
      ToleranceRow{graph::conv2d_op, DType::kF32, kSum},
      ToleranceRow{graph::conv2d_grad_input_op, DType::kF32, kSum},
      ToleranceRow{graph::conv2d_grad_weight_op, DType::kF32, {1e-5, 3e-4}},  // sums of up to 7000 products
      ToleranceRow{graph::max_pool2d_op, DType::kF32, kExact},
      ToleranceRow{graph::max_pool2d_grad_op, DType::kF32, kElement},  // windows may overlap
      ToleranceRow{graph::avg_pool2d_op, DType::kF32, kElement},
      ToleranceRow{graph::avg_pool2d_grad_op, DType::kF32, kElement},
      ToleranceRow{graph::activation_op, DType::kF32, kFunction},
      ToleranceRow{graph::activation_grad_op, DType::kF32, kSum},  // bias_grad sums rows
      ToleranceRow{graph::swiglu_op, DType::kF32, kFunction},
      ToleranceRow{graph::swiglu_grad_op, DType::kF32, kFunction},
      ToleranceRow{graph::layernorm_op, DType::kF32, kSum},
      ToleranceRow{graph::layernorm_grad_op, DType::kF32, {1e-5, 1e-4}},
      ToleranceRow{graph::rmsnorm_op, DType::kF32, kSum},
      ToleranceRow{graph::rmsnorm_grad_op, DType::kF32, {1e-5, 1e-4}},
      ToleranceRow{graph::batchnorm_op, DType::kF32, kSum},
      ToleranceRow{graph::batchnorm_grad_op, DType::kF32, {1e-5, 1e-4}},
      ToleranceRow{graph::softmax_op, DType::kF32, {1e-5, 1e-7}},
      ToleranceRow{graph::softmax_grad_op, DType::kF32, {1e-5, 1e-6}},
      ToleranceRow{graph::cross_entropy_op, DType::kF32, {1e-5, 2e-6}},
      ToleranceRow{graph::cross_entropy_grad_op, DType::kF32, {1e-5, 1e-8}},
      ToleranceRow{graph::mse_op, DType::kF32, {1e-6, 1e-6}},
      ToleranceRow{graph::mse_grad_op, DType::kF32, {1e-6, 1e-12}},
      ToleranceRow{graph::bce_with_logits_op, DType::kF32, kFunction},
      ToleranceRow{graph::bce_with_logits_grad_op, DType::kF32, {3e-5, 1e-12}},
      ToleranceRow{graph::count_correct_op, DType::kF32, kExact},
      ToleranceRow{graph::embedding_op, DType::kF32, kExact},
      ToleranceRow{graph::embedding_grad_op, DType::kF32, kSum},
      ToleranceRow{graph::position_embedding_op, DType::kF32, kRounded},
      ToleranceRow{graph::position_embedding_grad_op, DType::kF32, kSum},
      ToleranceRow{graph::grouped_linear_op, DType::kF32, kSum},
      ToleranceRow{graph::grouped_linear_grad_input_op, DType::kF32, kSum},
      ToleranceRow{graph::grouped_linear_grad_weight_op, DType::kF32, kSum},
      ToleranceRow{graph::moe_route_op, DType::kF32, kFunction},
      ToleranceRow{graph::moe_route_grad_op, DType::kF32, kFunction},
      ToleranceRow{graph::moe_dispatch_op, DType::kF32, kRounded},
      ToleranceRow{graph::moe_combine_op, DType::kF32, kElement},
      ToleranceRow{graph::moe_weight_grad_op, DType::kF32, kSum},
      ToleranceRow{graph::rotary_op, DType::kF32, kElement},
      ToleranceRow{graph::attention_op, DType::kF32, kSum},
      ToleranceRow{graph::attention_grad_op, DType::kF32, {2e-5, 1e-4}},
      ToleranceRow{graph::recurrent_op, DType::kF32, kSum},
      ToleranceRow{graph::recurrent_grad_op, DType::kF32, {2e-5, 1e-4}},
      ToleranceRow{graph::dropout_op, DType::kF32, kRounded},
      ToleranceRow{graph::add_op, DType::kF32, kRounded},
      ToleranceRow{graph::sub_op, DType::kF32, kRounded},
      ToleranceRow{graph::mul_op, DType::kF32, kRounded},
      ToleranceRow{graph::div_op, DType::kF32, kRounded},
      ToleranceRow{graph::scale_op, DType::kF32, kRounded},
      ToleranceRow{graph::fill_op, DType::kF32, kExact},
      ToleranceRow{graph::cast_op, DType::kF32, kExact},  // of the rounded reference
      ToleranceRow{graph::cast_op, DType::kBF16, kExact},
      ToleranceRow{graph::sum_leading_op, DType::kF32, {1e-5, 1e-3}},  // up to 200,000 elements, sum of size 500
      ToleranceRow{graph::reduce_op, DType::kF32, {1e-5, 1e-3}},
      ToleranceRow{graph::expand_op, DType::kF32, kExact},
      ToleranceRow{graph::accumulate_op, DType::kF32, kRounded},
      ToleranceRow{graph::transpose_op, DType::kF32, kExact},
      ToleranceRow{graph::concat_op, DType::kF32, kExact},
      ToleranceRow{graph::slice_op, DType::kF32, kExact},
      ToleranceRow{graph::slice_grad_op, DType::kF32, kExact},
      ToleranceRow{graph::grad_norm_op, DType::kF32, {1e-6, 0}},
      ToleranceRow{graph::adamw_op, DType::kF32, kElement},
      ToleranceRow{graph::sgd_op, DType::kF32, kElement},
  };
  return kRows;
}

std::optional<Tolerance> tolerance_of(const graph::Op& op, DType dtype) {
  for (const ToleranceRow& row : tolerance_table()) {
    if (&row.op() == &op && row.dtype == dtype) return row.tolerance;
  }
  return std::nullopt;
}

}  // namespace headway::ops_test
