// The prepare functions of the CPU kernels, one per op; kernel_table.cpp is their only caller. Each stands in the file
// of its op family.
#pragma once

#include <memory>

#include "backend/cpu/cpu_kernel.h"

namespace headway::backend {

// linear.cpp
std::unique_ptr<CpuKernel> prepare_linear(const KernelRequest& request);
// matmul.cpp
std::unique_ptr<CpuKernel> prepare_matmul(const KernelRequest& request);
// conv2d.cpp
std::unique_ptr<CpuKernel> prepare_conv2d(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_conv2d_grad_input(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_conv2d_grad_weight(const KernelRequest& request);
// pool.cpp
std::unique_ptr<CpuKernel> prepare_max_pool2d(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_max_pool2d_grad(const KernelRequest& request);
// avg_pool.cpp
std::unique_ptr<CpuKernel> prepare_avg_pool2d(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_avg_pool2d_grad(const KernelRequest& request);
// activation.cpp
std::unique_ptr<CpuKernel> prepare_activation(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_activation_grad(const KernelRequest& request);
// swiglu.cpp
std::unique_ptr<CpuKernel> prepare_swiglu(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_swiglu_grad(const KernelRequest& request);
// layernorm.cpp
std::unique_ptr<CpuKernel> prepare_layernorm(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_layernorm_grad(const KernelRequest& request);
// rmsnorm.cpp
std::unique_ptr<CpuKernel> prepare_rmsnorm(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_rmsnorm_grad(const KernelRequest& request);
// batchnorm.cpp
std::unique_ptr<CpuKernel> prepare_batchnorm(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_batchnorm_grad(const KernelRequest& request);
// softmax.cpp
std::unique_ptr<CpuKernel> prepare_softmax(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_softmax_grad(const KernelRequest& request);
// loss.cpp
std::unique_ptr<CpuKernel> prepare_cross_entropy(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_cross_entropy_grad(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_mse(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_mse_grad(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_bce_with_logits(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_bce_with_logits_grad(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_count_correct(const KernelRequest& request);
// embedding.cpp
std::unique_ptr<CpuKernel> prepare_embedding(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_embedding_grad(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_position_embedding(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_position_embedding_grad(const KernelRequest& request);
// grouped_linear.cpp
std::unique_ptr<CpuKernel> prepare_grouped_linear(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_grouped_linear_grad_input(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_grouped_linear_grad_weight(const KernelRequest& request);
// moe.cpp
std::unique_ptr<CpuKernel> prepare_moe_route(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_moe_route_grad(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_moe_dispatch(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_moe_combine(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_moe_weight_grad(const KernelRequest& request);
// rotary.cpp
std::unique_ptr<CpuKernel> prepare_rotary(const KernelRequest& request);
// attention_forward.cpp, attention_backward.cpp
std::unique_ptr<CpuKernel> prepare_attention(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_attention_grad(const KernelRequest& request);
// recurrent_forward.cpp, recurrent_backward.cpp
std::unique_ptr<CpuKernel> prepare_recurrent(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_recurrent_grad(const KernelRequest& request);
// dropout.cpp
std::unique_ptr<CpuKernel> prepare_dropout(const KernelRequest& request);
// cast.cpp
std::unique_ptr<CpuKernel> prepare_cast(const KernelRequest& request);
// binary.cpp
std::unique_ptr<CpuKernel> prepare_add(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_sub(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_mul(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_div(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_expand(const KernelRequest& request);
// reduce.cpp
std::unique_ptr<CpuKernel> prepare_reduce(const KernelRequest& request);
// arithmetic.cpp
std::unique_ptr<CpuKernel> prepare_scale(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_fill(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_sum_leading(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_accumulate(const KernelRequest& request);
// transpose.cpp
std::unique_ptr<CpuKernel> prepare_transpose(const KernelRequest& request);
// concat.cpp
std::unique_ptr<CpuKernel> prepare_concat(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_slice(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_slice_grad(const KernelRequest& request);
// optimizer.cpp
std::unique_ptr<CpuKernel> prepare_grad_norm(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_adamw(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_sgd(const KernelRequest& request);

}  // namespace headway::backend
