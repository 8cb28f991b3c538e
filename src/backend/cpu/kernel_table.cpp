#include "backend/cpu/kernel_table.h"

#include <array>

#include "backend/cpu/bf16_product.h"
#include "backend/cpu/kernels.h"
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

namespace headway::backend {

std::span<const KernelRow> cpu_kernel_table() {
  using namespace graph;
  static constexpr std::array kRows = {
      KernelRow{linear_op, DType::kF32, prepare_linear},
      KernelRow{linear_op, DType::kBF16, prepare_linear_bf16},
      KernelRow{matmul_op, DType::kF32, prepare_matmul},
      KernelRow{matmul_op, DType::kBF16, prepare_matmul_bf16},
      KernelRow{conv2d_op, DType::kF32, prepare_conv2d},
      KernelRow{conv2d_grad_input_op, DType::kF32, prepare_conv2d_grad_input},
      KernelRow{conv2d_grad_weight_op, DType::kF32, prepare_conv2d_grad_weight},
      KernelRow{max_pool2d_op, DType::kF32, prepare_max_pool2d},
      KernelRow{max_pool2d_grad_op, DType::kF32, prepare_max_pool2d_grad},
      KernelRow{avg_pool2d_op, DType::kF32, prepare_avg_pool2d},
      KernelRow{avg_pool2d_grad_op, DType::kF32, prepare_avg_pool2d_grad},
      KernelRow{activation_op, DType::kF32, prepare_activation},
      KernelRow{activation_grad_op, DType::kF32, prepare_activation_grad},
      KernelRow{swiglu_op, DType::kF32, prepare_swiglu},
      KernelRow{swiglu_grad_op, DType::kF32, prepare_swiglu_grad},
      KernelRow{batchnorm_op, DType::kF32, prepare_batchnorm},
      KernelRow{batchnorm_grad_op, DType::kF32, prepare_batchnorm_grad},
      KernelRow{layernorm_op, DType::kF32, prepare_layernorm},
      KernelRow{layernorm_grad_op, DType::kF32, prepare_layernorm_grad},
      KernelRow{rmsnorm_op, DType::kF32, prepare_rmsnorm},
      KernelRow{rmsnorm_grad_op, DType::kF32, prepare_rmsnorm_grad},
      KernelRow{softmax_op, DType::kF32, prepare_softmax},
      KernelRow{softmax_grad_op, DType::kF32, prepare_softmax_grad},
      KernelRow{cross_entropy_op, DType::kF32, prepare_cross_entropy},
      KernelRow{cross_entropy_grad_op, DType::kF32, prepare_cross_entropy_grad},
      KernelRow{mse_op, DType::kF32, prepare_mse},
      KernelRow{mse_grad_op, DType::kF32, prepare_mse_grad},
      KernelRow{bce_with_logits_op, DType::kF32, prepare_bce_with_logits},
      KernelRow{bce_with_logits_grad_op, DType::kF32, prepare_bce_with_logits_grad},
      KernelRow{count_correct_op, DType::kF32, prepare_count_correct},
      KernelRow{embedding_op, DType::kF32, prepare_embedding},
      KernelRow{embedding_grad_op, DType::kF32, prepare_embedding_grad},
      KernelRow{position_embedding_op, DType::kF32, prepare_position_embedding},
      KernelRow{position_embedding_grad_op, DType::kF32, prepare_position_embedding_grad},
      KernelRow{grouped_linear_op, DType::kF32, prepare_grouped_linear},
      KernelRow{grouped_linear_grad_input_op, DType::kF32, prepare_grouped_linear_grad_input},
      KernelRow{grouped_linear_grad_weight_op, DType::kF32, prepare_grouped_linear_grad_weight},
      KernelRow{moe_route_op, DType::kF32, prepare_moe_route},
      KernelRow{moe_route_grad_op, DType::kF32, prepare_moe_route_grad},
      KernelRow{moe_dispatch_op, DType::kF32, prepare_moe_dispatch},
      KernelRow{moe_combine_op, DType::kF32, prepare_moe_combine},
      KernelRow{moe_weight_grad_op, DType::kF32, prepare_moe_weight_grad},
      KernelRow{rotary_op, DType::kF32, prepare_rotary},
      KernelRow{attention_op, DType::kF32, prepare_attention},
      KernelRow{attention_grad_op, DType::kF32, prepare_attention_grad},
      KernelRow{recurrent_op, DType::kF32, prepare_recurrent},
      KernelRow{recurrent_grad_op, DType::kF32, prepare_recurrent_grad},
      KernelRow{dropout_op, DType::kF32, prepare_dropout},
      KernelRow{add_op, DType::kF32, prepare_add},
      KernelRow{sub_op, DType::kF32, prepare_sub},
      KernelRow{mul_op, DType::kF32, prepare_mul},
      KernelRow{div_op, DType::kF32, prepare_div},
      KernelRow{scale_op, DType::kF32, prepare_scale},
      KernelRow{fill_op, DType::kF32, prepare_fill},
      KernelRow{cast_op, DType::kF32, prepare_cast},
      KernelRow{cast_op, DType::kBF16, prepare_cast},
      KernelRow{sum_leading_op, DType::kF32, prepare_sum_leading},
      KernelRow{reduce_op, DType::kF32, prepare_reduce},
      KernelRow{expand_op, DType::kF32, prepare_expand},
      KernelRow{accumulate_op, DType::kF32, prepare_accumulate},
      KernelRow{transpose_op, DType::kF32, prepare_transpose},
      KernelRow{concat_op, DType::kF32, prepare_concat},
      KernelRow{slice_op, DType::kF32, prepare_slice},
      KernelRow{slice_grad_op, DType::kF32, prepare_slice_grad},
      KernelRow{grad_norm_op, DType::kF32, prepare_grad_norm},
      KernelRow{adamw_op, DType::kF32, prepare_adamw},
      KernelRow{sgd_op, DType::kF32, prepare_sgd},
  };
  return kRows;
}

}  // namespace headway::backend
