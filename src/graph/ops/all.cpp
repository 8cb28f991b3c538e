#include "graph/ops/all.h"

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

namespace headway::graph {

std::span<const Op* const> all_ops() {
  static const std::array kOps = {
      &linear_op(),
      &matmul_op(),
      &conv2d_op(),
      &conv2d_grad_input_op(),
      &conv2d_grad_weight_op(),
      &max_pool2d_op(),
      &max_pool2d_grad_op(),
      &avg_pool2d_op(),
      &avg_pool2d_grad_op(),
      &activation_op(),
      &activation_grad_op(),
      &swiglu_op(),
      &swiglu_grad_op(),
      &layernorm_op(),
      &layernorm_grad_op(),
      &rmsnorm_op(),
      &rmsnorm_grad_op(),
      &batchnorm_op(),
      &batchnorm_grad_op(),
      &softmax_op(),
      &softmax_grad_op(),
      &cross_entropy_op(),
      &cross_entropy_grad_op(),
      &mse_op(),
      &mse_grad_op(),
      &bce_with_logits_op(),
      &bce_with_logits_grad_op(),
      &count_correct_op(),
      &embedding_op(),
      &embedding_grad_op(),
      &position_embedding_op(),
      &position_embedding_grad_op(),
      &grouped_linear_op(),
      &grouped_linear_grad_input_op(),
      &grouped_linear_grad_weight_op(),
      &moe_route_op(),
      &moe_route_grad_op(),
      &moe_dispatch_op(),
      &moe_combine_op(),
      &moe_weight_grad_op(),
      &rotary_op(),
      &attention_op(),
      &attention_grad_op(),
      &recurrent_op(),
      &recurrent_grad_op(),
      &dropout_op(),
      &add_op(),
      &sub_op(),
      &mul_op(),
      &div_op(),
      &scale_op(),
      &fill_op(),
      &cast_op(),
      &sum_leading_op(),
      &reduce_op(),
      &expand_op(),
      &accumulate_op(),
      &reshape_op(),
      &transpose_op(),
      &concat_op(),
      &slice_op(),
      &slice_grad_op(),
      &grad_norm_op(),
      &adamw_op(),
      &sgd_op(),
  };
  return kOps;
}

}  // namespace headway::graph
