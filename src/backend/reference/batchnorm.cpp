#include "graph/ops/batchnorm.h"

#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {

void batchnorm(const Call& call) {
  const auto attributes = graph::BatchNormAttributes::from(call.attributes);
  const Tensor& x = call.inputs[0];
  const auto channels = static_cast<std::size_t>(call.in_shape(0)[-1]);
  const auto rows = static_cast<double>(call.in_shape(0).rows());
  Tensor mean(channels, 0), variance(channels, 0), rstd(channels, 0);
  if (attributes.evaluation) {
    mean = call.inputs[3];
    variance = call.inputs[4];
  } else {
    for (std::size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i] / rows;
    for (std::size_t i = 0; i < x.size(); ++i) {
      variance[i % channels] += (x[i] - mean[i % channels]) * (x[i] - mean[i % channels]) / rows;
    }
  }
  for (std::size_t c = 0; c < channels; ++c) rstd[c] = 1 / std::sqrt(variance[c] + attributes.eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    const double norm = (x[i] - mean[c]) * rstd[c] * call.inputs[1][c] + call.inputs[2][c];
    call.outputs[0][i] = activate(attributes.activation, norm);
  }
  if (attributes.evaluation) return;
  call.outputs[1] = mean;
  call.outputs[2] = rstd;
  for (std::size_t c = 0; c < channels; ++c) {
    const double unbiased = variance[c] * rows / (rows - 1);
    call.outputs[3][c] = (1 - attributes.momentum) * call.inputs[3][c] + attributes.momentum * mean[c];
    call.outputs[4][c] = (1 - attributes.momentum) * call.inputs[4][c] + attributes.momentum * unbiased;
  }
}

// With z = (x - mean) rstd and d the gradient of the norm: dx = gamma rstd (d - mean(d) - z mean(d z)).
void batchnorm_grad(const Call& call) {
  const auto attributes = graph::BatchNormGradAttributes::from(call.attributes);
  const Tensor& x = call.inputs[1];
  const Tensor& gamma = call.inputs[4];
  const auto channels = static_cast<std::size_t>(call.in_shape(1)[-1]);
  const auto rows = static_cast<double>(call.in_shape(1).rows());
  Tensor z(x.size()), d(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    z[i] = (x[i] - call.inputs[2][c]) * call.inputs[3][c];
    d[i] = call.inputs[0][i] * activation_derivative(attributes.activation, z[i] * gamma[c] + call.inputs[5][c]);
    call.outputs[1][c] += d[i] * z[i];
    call.outputs[2][c] += d[i];
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    const double centred = d[i] - call.outputs[2][c] / rows - z[i] * call.outputs[1][c] / rows;
    call.outputs[0][i] = gamma[c] * call.inputs[3][c] * centred * derivative_from_saved(attributes.before, x[i]);
  }
}

}  // namespace headway::backend::reference
