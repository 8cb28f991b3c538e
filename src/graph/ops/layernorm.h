// LayerNorm over the last axis: y = (x - mean) / sqrt(variance + eps) * gamma + beta, biased variance, as PyTorch.
#pragma once

#include "graph/graph.h"
#include "graph/ops/activation.h"

namespace headway::graph {

// layernorm. Inputs x [..., n], gamma [n], beta [n] and, with residual (made by the fusion pass), r like x: then
// s = x + r is normalised. Outputs y = activation(norm) [..., n], mean [...], rstd [...] (f32) and, with residual, s.
struct LayerNormAttributes {
  double eps = 1e-5;
  Activation activation = Activation::kNone;
  bool residual = false;
  static LayerNormAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& layernorm_op();
ValueId layernorm(Graph& graph, ValueId x, ValueId gamma, ValueId beta, double eps = 1e-5);

// layernorm_grad. Inputs dy, x (the normalised sum), mean, rstd, gamma, beta, and with `extra` a gradient like x that
// is added to dx. Outputs dx, dgamma [n], dbeta [n]. With an activation dy is the gradient after it.
struct LayerNormGradAttributes {
  Activation activation = Activation::kNone;
  bool extra = false;
  static LayerNormGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& layernorm_grad_op();

}  // namespace headway::graph
