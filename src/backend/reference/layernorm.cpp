#include "graph/ops/layernorm.h"

#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {

void layernorm(const Call& call) {
  const auto attributes = graph::LayerNormAttributes::from(call.attributes);
  const auto width = static_cast<std::size_t>(call.in_shape(0)[-1]);
  const auto rows = static_cast<std::size_t>(call.in_shape(0).rows());
  const Tensor& gamma = call.inputs[1];
  const Tensor& beta = call.inputs[2];
  Tensor sum = call.inputs[0];
  if (attributes.residual) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += call.inputs[3][i];
    call.outputs[3] = sum;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const double* s = sum.data() + row * width;
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < width; ++i) mean += s[i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) variance += (s[i] - mean) * (s[i] - mean) / static_cast<double>(width);
    const double rstd = 1 / std::sqrt(variance + attributes.eps);
    for (std::size_t i = 0; i < width; ++i) {
      call.outputs[0][row * width + i] = activate(attributes.activation, (s[i] - mean) * rstd * gamma[i] + beta[i]);
    }
    call.outputs[1][row] = mean;
    call.outputs[2][row] = rstd;
  }
}

// With z = (x - mean) rstd and g the gradient of z: dx = rstd (g - mean(g) - z mean(g z)).
void layernorm_grad(const Call& call) {
  const auto attributes = graph::LayerNormGradAttributes::from(call.attributes);
  const Tensor& dy = call.inputs[0];
  const Tensor& x = call.inputs[1];
  const Tensor& mean = call.inputs[2];
  const Tensor& rstd = call.inputs[3];
  const Tensor& gamma = call.inputs[4];
  const Tensor& beta = call.inputs[5];
  const auto width = static_cast<std::size_t>(call.in_shape(1)[-1]);
  const auto rows = static_cast<std::size_t>(call.in_shape(1).rows());
  for (std::size_t row = 0; row < rows; ++row) {
    Tensor z(width), g(width);
    double mean_g = 0, mean_gz = 0;
    for (std::size_t i = 0; i < width; ++i) {
      z[i] = (x[row * width + i] - mean[row]) * rstd[row];
      const double dnorm =
          dy[row * width + i] * activation_derivative(attributes.activation, z[i] * gamma[i] + beta[i]);
      call.outputs[1][i] += dnorm * z[i];
      call.outputs[2][i] += dnorm;
      g[i] = dnorm * gamma[i];
      mean_g += g[i] / static_cast<double>(width);
      mean_gz += g[i] * z[i] / static_cast<double>(width);
    }
    for (std::size_t i = 0; i < width; ++i) {
      call.outputs[0][row * width + i] = rstd[row] * (g[i] - mean_g - z[i] * mean_gz);
      if (attributes.extra) call.outputs[0][row * width + i] += call.inputs[6][row * width + i];
    }
  }
}

}  // namespace headway::backend::reference
