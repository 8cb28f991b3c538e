// Parameter updates, in place, over any number of parameters at once, and the norm of all gradients.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// The input "hyper", f32 [4], written by the trainer before the update: learning rate, 1 - beta1^t, 1 - beta2^t,
// unused.
enum HyperIndex : std::int64_t { kLearningRate, kBias1, kBias2 };

// grad_norm. Inputs: any number of gradients; output f32 []: sqrt(sum of squares) * scale. Squares are summed in f64
// over fixed blocks of 4096 elements of each parameter, in parameter order.
struct GradNormAttributes {
  double scale = 1;
  static GradNormAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& grad_norm_op();

// adamw (Loshchilov, Hutter 2019; as PyTorch: decay before the step). Inputs hyper, with clip the gradient norm, then
// for each parameter: parameter, gradient, first moment, second moment; outputs for each parameter: parameter, first,
// second, in place. The gradient is multiplied by grad_scale and, with clip > 0, by min(1, clip / (norm + 1e-6)).
struct AdamWAttributes {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double clip = 0;
  double grad_scale = 1;
  std::vector<std::int64_t> decay_mask;  // for each parameter 1 when weight_decay applies
  double weight_decay = 0;
  static AdamWAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& adamw_op();

// sgd (as PyTorch: decay added to the gradient; buffer = momentum * buffer + gradient; parameter -= lr * buffer; the
// first step's buffer is the gradient, which holds as buffers start at 0). Inputs hyper, with clip the norm, then for
// each parameter: parameter, gradient and, with momentum > 0, the buffer; outputs parameter and buffer, in place.
struct SgdAttributes {
  double momentum = 0;
  double clip = 0;
  double grad_scale = 1;
  std::vector<std::int64_t> decay_mask;
  double weight_decay = 0;
  static SgdAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& sgd_op();

// What the trainer asks for; lr and the step go in through "hyper".
struct OptimizerSpec {
  enum class Kind : std::uint8_t { kAdamW, kSgd } kind = Kind::kAdamW;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, momentum = 0, weight_decay = 0;
  double clip = 0;              // 0: no clipping, no norm
  std::int64_t accumulate = 1;  // micro-batches a step; gradients are their mean
};

// Appends accumulation (accumulate > 1), the norm (clip > 0, output "grad_norm") and one update node per parameter in
// phase update; fuse_optimizer makes one node of them. `gradients` as from differentiate().
void add_optimizer(Graph& graph, const std::vector<ValueId>& gradients, const OptimizerSpec& spec);

}  // namespace headway::graph
