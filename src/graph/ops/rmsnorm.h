// RMSNorm over the last axis: y = x / sqrt(mean(x^2) + eps) * gamma (Zhang, Sennrich 2019), as PyTorch's nn.RMSNorm.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// rmsnorm. Inputs x [..., n], gamma [n] and, with residual (made by the fusion pass), r like x: then s = x + r is
// normalised. Outputs y [..., n], rstd [...] (f32; 1 / sqrt(mean(x^2) + eps)) and, with residual, s.
struct RmsNormAttributes {
  double eps = 1e-5;
  bool residual = false;
  static RmsNormAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& rmsnorm_op();
ValueId rmsnorm(Graph& graph, ValueId x, ValueId gamma, double eps = 1e-5);

// rmsnorm_grad. Inputs dy, x (the normalised sum), rstd, gamma, and with `extra` a gradient like x that is added to dx.
// Outputs dx, dgamma [n].
struct RmsNormGradAttributes {
  bool extra = false;
  static RmsNormGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& rmsnorm_grad_op();

}  // namespace headway::graph
