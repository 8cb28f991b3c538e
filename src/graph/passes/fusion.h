// The fusion passes. Each keeps the values that others read; what nobody reads any more is not made any more.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace headway::graph {

// layernorm or batchnorm -> activation, and in the gradient activation_grad -> their gradient: the normalised value is
// not stored.
std::int64_t fuse_norm_activation(Graph& graph);
// batchnorm_grad -> activation_grad, where the norm's input is the activation's output, which both read.
std::int64_t fuse_activation_norm_grad(Graph& graph);
// linear or conv2d -> activation; the value before it is kept only where the gradient reads it, which a convolution
// does not offer.
std::int64_t fuse_bias_activation(Graph& graph);
// max_pool2d_grad -> activation_grad, of an activation right before the pool: the other way round, on the pooled
// values, which are the activation's outputs where the gradient is not zero.
std::int64_t pool_activation_grad(Graph& graph);
// activation_grad -> the gradients of a conv2d, which read its inputs instead: both make copies of dy, or stay in
// cache.
std::int64_t fuse_activation_conv_grad(Graph& graph);
// activation_grad -> sum_leading: the bias gradient is summed while the gradient is in cache.
std::int64_t fuse_bias_grad(Graph& graph);
// add -> layernorm, and in the gradient layernorm_grad -> add.
std::int64_t fuse_residual_norm(Graph& graph);
// cross_entropy and its gradient in one walk over the logits.
std::int64_t fuse_cross_entropy(Graph& graph);
// All parameter updates of one kind in one node.
std::int64_t fuse_optimizer(Graph& graph);
// Nodes whose results nobody reads.
std::int64_t remove_dead(Graph& graph);

}  // namespace headway::graph
