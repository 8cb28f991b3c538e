#include "graph/ops/rmsnorm.h"

#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {

void rmsnorm(const Call& call) {
  const auto attributes = graph::RmsNormAttributes::from(call.attributes);
  const auto width = static_cast<std::size_t>(call.in_shape(0)[-1]);
  const auto rows = static_cast<std::size_t>(call.in_shape(0).rows());
  const Tensor& gamma = call.inputs[1];
  Tensor sum = call.inputs[0];
  if (attributes.residual) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += call.inputs[2][i];
    call.outputs[2] = sum;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const double* s = sum.data() + row * width;
    double square = 0;
    for (std::size_t i = 0; i < width; ++i) square += s[i] * s[i] / static_cast<double>(width);
    const double rstd = 1 / std::sqrt(square + attributes.eps);
    for (std::size_t i = 0; i < width; ++i) call.outputs[0][row * width + i] = s[i] * rstd * gamma[i];
    call.outputs[1][row] = rstd;
  }
}

// With z = x rstd and g the gradient of z: dx = rstd (g - z mean(g z)).
void rmsnorm_grad(const Call& call) {
  const auto attributes = graph::RmsNormGradAttributes::from(call.attributes);
  const Tensor& dy = call.inputs[0];
  const Tensor& x = call.inputs[1];
  const Tensor& rstd = call.inputs[2];
  const Tensor& gamma = call.inputs[3];
  const auto width = static_cast<std::size_t>(call.in_shape(1)[-1]);
  const auto rows = static_cast<std::size_t>(call.in_shape(1).rows());
  for (std::size_t row = 0; row < rows; ++row) {
    double mean_gz = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = row * width + i;
      const double z = x[at] * rstd[row];
      call.outputs[1][i] += dy[at] * z;
      mean_gz += dy[at] * gamma[i] * z / static_cast<double>(width);
    }
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = row * width + i;
      call.outputs[0][at] = rstd[row] * (dy[at] * gamma[i] - x[at] * rstd[row] * mean_gz);
      if (attributes.extra) call.outputs[0][at] += call.inputs[4][at];
    }
  }
}

}  // namespace headway::backend::reference
