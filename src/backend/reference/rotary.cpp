#include "graph/ops/rotary.h"

#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {

void rotary(const Call& call) {
  const auto attributes = graph::RotaryAttributes::from(call.attributes);
  const Shape& shape = call.in_shape(0);
  const std::int64_t width = shape[2], size = attributes.head_size, half = size / 2;
  const Tensor& x = call.inputs[0];
  Tensor& y = call.outputs[0];
  y = x;
  for (std::int64_t row = 0; row < shape[0] * shape[1]; ++row) {
    for (std::int64_t pair = 0; pair < attributes.heads * half; ++pair) {
      const std::int64_t d = pair % half, at = row * width + pair / half * size + d;
      const double angle = static_cast<double>(row % shape[1]) *
                           std::pow(attributes.theta, -2.0 * static_cast<double>(d) / static_cast<double>(size));
      const double cosine = std::cos(angle), sine = attributes.inverse ? -std::sin(angle) : std::sin(angle);
      const auto first = static_cast<std::size_t>(at), second = static_cast<std::size_t>(at + half);
      y[first] = x[first] * cosine - x[second] * sine;
      y[second] = x[second] * cosine + x[first] * sine;
    }
  }
}

}  // namespace headway::backend::reference
