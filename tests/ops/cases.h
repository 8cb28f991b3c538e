// The functions that make the cases of each op, one file per family; case_table.cpp is their only caller.
#pragma once

#include "tests/ops/op_case.h"

namespace headway::ops_test {

// cases_pointwise.cpp
void activation_cases(CaseMaker& maker);
void activation_grad_cases(CaseMaker& maker);
void swiglu_cases(CaseMaker& maker);
void swiglu_grad_cases(CaseMaker& maker);
void add_cases(CaseMaker& maker);
void sub_cases(CaseMaker& maker);
void mul_cases(CaseMaker& maker);
void div_cases(CaseMaker& maker);
void scale_cases(CaseMaker& maker);
void fill_cases(CaseMaker& maker);
void cast_cases(CaseMaker& maker);
void sum_leading_cases(CaseMaker& maker);
void reduce_cases(CaseMaker& maker);
void expand_cases(CaseMaker& maker);
void accumulate_cases(CaseMaker& maker);
void dropout_cases(CaseMaker& maker);
// cases_products.cpp
void linear_cases(CaseMaker& maker);
void matmul_cases(CaseMaker& maker);
void rotary_cases(CaseMaker& maker);
void attention_cases(CaseMaker& maker);
void attention_grad_cases(CaseMaker& maker);
// cases_recurrent.cpp
void recurrent_cases(CaseMaker& maker);
void recurrent_grad_cases(CaseMaker& maker);
// cases_images.cpp
void conv2d_cases(CaseMaker& maker);
void conv2d_grad_input_cases(CaseMaker& maker);
void conv2d_grad_weight_cases(CaseMaker& maker);
void max_pool2d_cases(CaseMaker& maker);
void max_pool2d_grad_cases(CaseMaker& maker);
void avg_pool2d_cases(CaseMaker& maker);
void avg_pool2d_grad_cases(CaseMaker& maker);
// cases_batchnorm.cpp
void batchnorm_cases(CaseMaker& maker);
void batchnorm_grad_cases(CaseMaker& maker);
// cases_concat.cpp
void concat_cases(CaseMaker& maker);
void slice_cases(CaseMaker& maker);
void slice_grad_cases(CaseMaker& maker);
// cases_rows.cpp
void layernorm_cases(CaseMaker& maker);
void layernorm_grad_cases(CaseMaker& maker);
void rmsnorm_cases(CaseMaker& maker);
void rmsnorm_grad_cases(CaseMaker& maker);
void softmax_cases(CaseMaker& maker);
void softmax_grad_cases(CaseMaker& maker);
void embedding_cases(CaseMaker& maker);
void embedding_grad_cases(CaseMaker& maker);
void position_embedding_cases(CaseMaker& maker);
void position_embedding_grad_cases(CaseMaker& maker);
void reshape_cases(CaseMaker& maker);
void transpose_cases(CaseMaker& maker);
// cases_moe.cpp
void grouped_linear_cases(CaseMaker& maker);
void grouped_linear_grad_input_cases(CaseMaker& maker);
void grouped_linear_grad_weight_cases(CaseMaker& maker);
void moe_route_cases(CaseMaker& maker);
void moe_route_grad_cases(CaseMaker& maker);
void moe_dispatch_cases(CaseMaker& maker);
void moe_combine_cases(CaseMaker& maker);
void moe_weight_grad_cases(CaseMaker& maker);
// cases_loss.cpp
void cross_entropy_cases(CaseMaker& maker);
void cross_entropy_grad_cases(CaseMaker& maker);
void mse_cases(CaseMaker& maker);
void mse_grad_cases(CaseMaker& maker);
void bce_with_logits_cases(CaseMaker& maker);
void bce_with_logits_grad_cases(CaseMaker& maker);
void count_correct_cases(CaseMaker& maker);
// cases_optimizer.cpp
void grad_norm_cases(CaseMaker& maker);
void adamw_cases(CaseMaker& maker);
void sgd_cases(CaseMaker& maker);

}  // namespace headway::ops_test
