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
#include "tests/ops/cases.h"

namespace headway::ops_test {

std::span<const CaseRow> case_table() {
  static constexpr std::array kRows = {
      CaseRow{graph::activation_op, activation_cases},
      CaseRow{graph::activation_grad_op, activation_grad_cases},
      CaseRow{graph::swiglu_op, swiglu_cases},
      CaseRow{graph::swiglu_grad_op, swiglu_grad_cases},
      CaseRow{graph::add_op, add_cases},
      CaseRow{graph::sub_op, sub_cases},
      CaseRow{graph::mul_op, mul_cases},
      CaseRow{graph::div_op, div_cases},
      CaseRow{graph::scale_op, scale_cases},
      CaseRow{graph::fill_op, fill_cases},
      CaseRow{graph::cast_op, cast_cases},
      CaseRow{graph::sum_leading_op, sum_leading_cases},
      CaseRow{graph::reduce_op, reduce_cases},
      CaseRow{graph::expand_op, expand_cases},
      CaseRow{graph::accumulate_op, accumulate_cases},
      CaseRow{graph::rotary_op, rotary_cases},
      CaseRow{graph::attention_op, attention_cases},
      CaseRow{graph::attention_grad_op, attention_grad_cases},
      CaseRow{graph::recurrent_op, recurrent_cases},
      CaseRow{graph::recurrent_grad_op, recurrent_grad_cases},
      CaseRow{graph::batchnorm_op, batchnorm_cases},
      CaseRow{graph::batchnorm_grad_op, batchnorm_grad_cases},
      CaseRow{graph::concat_op, concat_cases},
      CaseRow{graph::slice_op, slice_cases},
      CaseRow{graph::slice_grad_op, slice_grad_cases},
      CaseRow{graph::conv2d_op, conv2d_cases},
      CaseRow{graph::conv2d_grad_input_op, conv2d_grad_input_cases},
      CaseRow{graph::conv2d_grad_weight_op, conv2d_grad_weight_cases},
      CaseRow{graph::dropout_op, dropout_cases},
      CaseRow{graph::embedding_op, embedding_cases},
      CaseRow{graph::embedding_grad_op, embedding_grad_cases},
      CaseRow{graph::position_embedding_op, position_embedding_cases},
      CaseRow{graph::position_embedding_grad_op, position_embedding_grad_cases},
      CaseRow{graph::grouped_linear_op, grouped_linear_cases},
      CaseRow{graph::grouped_linear_grad_input_op, grouped_linear_grad_input_cases},
      CaseRow{graph::grouped_linear_grad_weight_op, grouped_linear_grad_weight_cases},
      CaseRow{graph::moe_route_op, moe_route_cases},
      CaseRow{graph::moe_route_grad_op, moe_route_grad_cases},
      CaseRow{graph::moe_dispatch_op, moe_dispatch_cases},
      CaseRow{graph::moe_combine_op, moe_combine_cases},
      CaseRow{graph::moe_weight_grad_op, moe_weight_grad_cases},
      CaseRow{graph::layernorm_op, layernorm_cases},
      CaseRow{graph::layernorm_grad_op, layernorm_grad_cases},
      CaseRow{graph::rmsnorm_op, rmsnorm_cases},
      CaseRow{graph::rmsnorm_grad_op, rmsnorm_grad_cases},
      CaseRow{graph::linear_op, linear_cases},
      CaseRow{graph::matmul_op, matmul_cases},
      CaseRow{graph::cross_entropy_op, cross_entropy_cases},
      CaseRow{graph::cross_entropy_grad_op, cross_entropy_grad_cases},
      CaseRow{graph::mse_op, mse_cases},
      CaseRow{graph::mse_grad_op, mse_grad_cases},
      CaseRow{graph::bce_with_logits_op, bce_with_logits_cases},
      CaseRow{graph::bce_with_logits_grad_op, bce_with_logits_grad_cases},
      CaseRow{graph::count_correct_op, count_correct_cases},
      CaseRow{graph::grad_norm_op, grad_norm_cases},
      CaseRow{graph::adamw_op, adamw_cases},
      CaseRow{graph::sgd_op, sgd_cases},
      CaseRow{graph::max_pool2d_op, max_pool2d_cases},
      CaseRow{graph::max_pool2d_grad_op, max_pool2d_grad_cases},
      CaseRow{graph::avg_pool2d_op, avg_pool2d_cases},
      CaseRow{graph::avg_pool2d_grad_op, avg_pool2d_grad_cases},
      CaseRow{graph::reshape_op, reshape_cases},
      CaseRow{graph::transpose_op, transpose_cases},
      CaseRow{graph::softmax_op, softmax_cases},
      CaseRow{graph::softmax_grad_op, softmax_grad_cases},
  };
  return kRows;
}

}  // namespace headway::ops_test
