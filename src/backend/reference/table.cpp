#include <array>

#include "backend/reference/functions.h"
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

namespace headway::backend::reference {

std::span<const ReferenceRow> reference_table() {
  static constexpr std::array kRows = {
      ReferenceRow{graph::activation_op, activation},
      ReferenceRow{graph::activation_grad_op, activation_grad},
      ReferenceRow{graph::swiglu_op, swiglu},
      ReferenceRow{graph::swiglu_grad_op, swiglu_grad},
      ReferenceRow{graph::add_op, add},
      ReferenceRow{graph::sub_op, sub},
      ReferenceRow{graph::mul_op, mul},
      ReferenceRow{graph::div_op, div},
      ReferenceRow{graph::scale_op, scale},
      ReferenceRow{graph::fill_op, fill},
      ReferenceRow{graph::cast_op, cast},
      ReferenceRow{graph::sum_leading_op, sum_leading},
      ReferenceRow{graph::reduce_op, reduce},
      ReferenceRow{graph::expand_op, expand},
      ReferenceRow{graph::accumulate_op, accumulate},
      ReferenceRow{graph::attention_op, attention},
      ReferenceRow{graph::attention_grad_op, attention_grad},
      ReferenceRow{graph::batchnorm_op, batchnorm},
      ReferenceRow{graph::batchnorm_grad_op, batchnorm_grad},
      ReferenceRow{graph::concat_op, concat},
      ReferenceRow{graph::slice_op, slice},
      ReferenceRow{graph::slice_grad_op, slice_grad},
      ReferenceRow{graph::conv2d_op, conv2d},
      ReferenceRow{graph::conv2d_grad_input_op, conv2d_grad_input},
      ReferenceRow{graph::conv2d_grad_weight_op, conv2d_grad_weight},
      ReferenceRow{graph::dropout_op, dropout},
      ReferenceRow{graph::embedding_op, embedding},
      ReferenceRow{graph::embedding_grad_op, embedding_grad},
      ReferenceRow{graph::position_embedding_op, position_embedding},
      ReferenceRow{graph::position_embedding_grad_op, position_embedding_grad},
      ReferenceRow{graph::grouped_linear_op, grouped_linear},
      ReferenceRow{graph::grouped_linear_grad_input_op, grouped_linear_grad_input},
      ReferenceRow{graph::grouped_linear_grad_weight_op, grouped_linear_grad_weight},
      ReferenceRow{graph::moe_route_op, moe_route},
      ReferenceRow{graph::moe_route_grad_op, moe_route_grad},
      ReferenceRow{graph::moe_dispatch_op, moe_dispatch},
      ReferenceRow{graph::moe_combine_op, moe_combine},
      ReferenceRow{graph::moe_weight_grad_op, moe_weight_grad},
      ReferenceRow{graph::layernorm_op, layernorm},
      ReferenceRow{graph::layernorm_grad_op, layernorm_grad},
      ReferenceRow{graph::rmsnorm_op, rmsnorm},
      ReferenceRow{graph::rmsnorm_grad_op, rmsnorm_grad},
      ReferenceRow{graph::linear_op, linear},
      ReferenceRow{graph::matmul_op, matmul},
      ReferenceRow{graph::cross_entropy_op, cross_entropy},
      ReferenceRow{graph::cross_entropy_grad_op, cross_entropy_grad},
      ReferenceRow{graph::mse_op, mse},
      ReferenceRow{graph::mse_grad_op, mse_grad},
      ReferenceRow{graph::bce_with_logits_op, bce_with_logits},
      ReferenceRow{graph::bce_with_logits_grad_op, bce_with_logits_grad},
      ReferenceRow{graph::count_correct_op, count_correct},
      ReferenceRow{graph::grad_norm_op, grad_norm},
      ReferenceRow{graph::adamw_op, adamw},
      ReferenceRow{graph::sgd_op, sgd},
      ReferenceRow{graph::max_pool2d_op, max_pool2d},
      ReferenceRow{graph::max_pool2d_grad_op, max_pool2d_grad},
      ReferenceRow{graph::avg_pool2d_op, avg_pool2d},
      ReferenceRow{graph::avg_pool2d_grad_op, avg_pool2d_grad},
      ReferenceRow{graph::recurrent_op, recurrent},
      ReferenceRow{graph::recurrent_grad_op, recurrent_grad},
      ReferenceRow{graph::rotary_op, rotary},
      ReferenceRow{graph::reshape_op, reshape},
      ReferenceRow{graph::transpose_op, transpose},
      ReferenceRow{graph::softmax_op, softmax},
      ReferenceRow{graph::softmax_grad_op, softmax_grad},
  };
  return kRows;
}

}  // namespace headway::backend::reference
