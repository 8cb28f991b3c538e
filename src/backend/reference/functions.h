// The reference functions, one per op; table.cpp is their only caller. Each stands in the file of its op family.
#pragma once

#include "backend/reference/reference.h"
#include "graph/ops/activation.h"

namespace headway::backend::reference {

// An activation and its derivative at x; the derivative from what activation_grad is given, the input or the output.
double activate(graph::Activation activation, double x);
double activation_derivative(graph::Activation activation, double x);
double derivative_from_saved(graph::Activation activation, double saved);

// activation.cpp
void activation(const Call& call);
void activation_grad(const Call& call);
// arithmetic.cpp
void add(const Call& call);
void sub(const Call& call);
void mul(const Call& call);
void div(const Call& call);
void scale(const Call& call);
void fill(const Call& call);
void sum_leading(const Call& call);
void accumulate(const Call& call);
// attention.cpp
void attention(const Call& call);
void attention_grad(const Call& call);
// avg_pool.cpp
void avg_pool2d(const Call& call);
void avg_pool2d_grad(const Call& call);
// batchnorm.cpp
void batchnorm(const Call& call);
void batchnorm_grad(const Call& call);
// concat.cpp
void concat(const Call& call);
void slice(const Call& call);
void slice_grad(const Call& call);
// conv2d.cpp
void conv2d(const Call& call);
void conv2d_grad_input(const Call& call);
void conv2d_grad_weight(const Call& call);
// dropout.cpp
void dropout(const Call& call);
// embedding.cpp
void embedding(const Call& call);
void embedding_grad(const Call& call);
void position_embedding(const Call& call);
void position_embedding_grad(const Call& call);
// grouped_linear.cpp
void grouped_linear(const Call& call);
void grouped_linear_grad_input(const Call& call);
void grouped_linear_grad_weight(const Call& call);
// layernorm.cpp
void layernorm(const Call& call);
void layernorm_grad(const Call& call);
// cast.cpp
void cast(const Call& call);
// linear.cpp
void linear(const Call& call);
void matmul(const Call& call);
// loss.cpp
void cross_entropy(const Call& call);
void cross_entropy_grad(const Call& call);
void mse(const Call& call);
void mse_grad(const Call& call);
void bce_with_logits(const Call& call);
void bce_with_logits_grad(const Call& call);
void count_correct(const Call& call);
// moe.cpp
void moe_route(const Call& call);
void moe_route_grad(const Call& call);
void moe_dispatch(const Call& call);
void moe_combine(const Call& call);
void moe_weight_grad(const Call& call);
// optimizer.cpp
void grad_norm(const Call& call);
void adamw(const Call& call);
void sgd(const Call& call);
// pool.cpp
void max_pool2d(const Call& call);
void max_pool2d_grad(const Call& call);
// recurrent.cpp
void recurrent(const Call& call);
void recurrent_grad(const Call& call);
// reduce.cpp
std::size_t broadcast_index(std::size_t index, const Shape& to, const Shape& shape);
void reduce(const Call& call);
void expand(const Call& call);
// rmsnorm.cpp
void rmsnorm(const Call& call);
void rmsnorm_grad(const Call& call);
// rotary.cpp
void rotary(const Call& call);
// shape_ops.cpp
void reshape(const Call& call);
void transpose(const Call& call);
// softmax.cpp
void softmax(const Call& call);
void softmax_grad(const Call& call);
// swiglu.cpp
void swiglu(const Call& call);
void swiglu_grad(const Call& call);

}  // namespace headway::backend::reference
