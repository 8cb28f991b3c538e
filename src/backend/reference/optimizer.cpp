#include "graph/ops/optimizer.h"

#include <algorithm>
#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

// What every element of a gradient is multiplied by; the norm is the second input when there is clipping.
double gradient_factor(const Call& call, double grad_scale, double clip) {
  if (clip <= 0) return grad_scale;
  return grad_scale * std::min(1.0, clip / (call.inputs[1][0] + 1e-6));
}

double decay_of(const std::vector<std::int64_t>& mask, std::size_t parameter, double weight_decay) {
  return mask.at(parameter) != 0 ? weight_decay : 0;
}

}  // namespace

void grad_norm(const Call& call) {
  double squares = 0;
  for (const Tensor& gradient : call.inputs) {
    for (const double element : gradient) squares += element * element;
  }
  call.outputs[0][0] = std::sqrt(squares) * graph::GradNormAttributes::from(call.attributes).scale;
}

void adamw(const Call& call) {
  const auto attributes = graph::AdamWAttributes::from(call.attributes);
  const double lr = call.inputs[0][graph::kLearningRate];
  const double bias1 = call.inputs[0][graph::kBias1];
  const double bias2 = call.inputs[0][graph::kBias2];
  const double factor = gradient_factor(call, attributes.grad_scale, attributes.clip);
  const std::size_t first = attributes.clip > 0 ? 2 : 1;
  for (std::size_t index = 0; first + 4 * index < call.inputs.size(); ++index) {
    const Tensor& parameter = call.inputs[first + 4 * index];
    const Tensor& gradient = call.inputs[first + 4 * index + 1];
    const Tensor& moment1 = call.inputs[first + 4 * index + 2];
    const Tensor& moment2 = call.inputs[first + 4 * index + 3];
    const double decay = decay_of(attributes.decay_mask, index, attributes.weight_decay);
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      const double g = gradient[i] * factor;
      const double m = attributes.beta1 * moment1[i] + (1 - attributes.beta1) * g;
      const double v = attributes.beta2 * moment2[i] + (1 - attributes.beta2) * g * g;
      const double decayed = parameter[i] * (1 - lr * decay);
      call.outputs[3 * index][i] = decayed - lr * (m / bias1) / (std::sqrt(v / bias2) + attributes.eps);
      call.outputs[3 * index + 1][i] = m;
      call.outputs[3 * index + 2][i] = v;
    }
  }
}

void sgd(const Call& call) {
  const auto attributes = graph::SgdAttributes::from(call.attributes);
  const bool has_buffer = attributes.momentum > 0;
  const double lr = call.inputs[0][graph::kLearningRate];
  const double factor = gradient_factor(call, attributes.grad_scale, attributes.clip);
  const std::size_t first = attributes.clip > 0 ? 2 : 1;
  const std::size_t step_in = has_buffer ? 3 : 2, step_out = has_buffer ? 2 : 1;
  for (std::size_t index = 0; first + step_in * index < call.inputs.size(); ++index) {
    const Tensor& parameter = call.inputs[first + step_in * index];
    const Tensor& gradient = call.inputs[first + step_in * index + 1];
    const double decay = decay_of(attributes.decay_mask, index, attributes.weight_decay);
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      double update = gradient[i] * factor + decay * parameter[i];
      if (has_buffer) {
        update += attributes.momentum * call.inputs[first + step_in * index + 2][i];
        call.outputs[step_out * index + 1][i] = update;
      }
      call.outputs[step_out * index][i] = parameter[i] - lr * update;
    }
  }
}

}  // namespace headway::backend::reference
