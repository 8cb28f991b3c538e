// BatchNorm over all axes but the last (channels-last): each channel is normalised with statistics of its own, as
// PyTorch's BatchNorm1d and 2d (Ioffe, Szegedy 2015).
//
// Training: y = (x - mean) / sqrt(variance + eps) * gamma + beta with the mean and the biased variance of the
// micro-batch, and the running statistics become (1 - momentum) * running + momentum * (mean | unbiased variance), once
// a micro-batch, in order. Evaluation: the same with the running statistics, which stay as they are.
#pragma once

#include "graph/graph.h"
#include "graph/ops/activation.h"

namespace headway::graph {

// batchnorm. Inputs x [..., c], gamma [c], beta [c], running mean [c], running variance [c]. Outputs
// y = activation(norm) [..., c] and, unless `evaluation`, mean [c], rstd [c] of this micro-batch, and the running mean
// and variance, in place. Training needs two rows at least: one has no unbiased variance.
struct BatchNormAttributes {
  double eps = 1e-5;
  double momentum = 0.1;
  Activation activation = Activation::kNone;  // made by the fusion pass
  bool evaluation = false;
  static BatchNormAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& batchnorm_op();
ValueId batchnorm(Graph& graph, ValueId x, ValueId gamma, ValueId beta, ValueId running_mean, ValueId running_variance,
                  bool training, double eps = 1e-5, double momentum = 0.1);

// batchnorm_grad. Inputs dy, x, mean, rstd, gamma, beta; outputs dx, dgamma [c], dbeta [c]. With `activation` dy is the
// gradient after it. With `before` x is the output of that activation (one whose gradient is computed from its output)
// and dx is the gradient at its input; never both.
struct BatchNormGradAttributes {
  Activation activation = Activation::kNone;
  Activation before = Activation::kNone;
  static BatchNormGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& batchnorm_grad_op();

}  // namespace headway::graph
