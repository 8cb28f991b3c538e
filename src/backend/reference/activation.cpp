#include "graph/ops/activation.h"

#include <cmath>
#include <numbers>

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

// GELU by tanh: x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3).
constexpr double kCubic = 0.044715;
const double kSlope = std::sqrt(2 / std::numbers::pi);

}  // namespace

double activate(graph::Activation kind, double x) {
  switch (kind) {
    case graph::Activation::kNone:
      return x;
    case graph::Activation::kRelu:
      return x > 0 ? x : 0;
    case graph::Activation::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case graph::Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(kSlope * (x + kCubic * x * x * x)));
  }
  return x;
}

double activation_derivative(graph::Activation kind, double x) {
  switch (kind) {
    case graph::Activation::kNone:
      return 1;
    case graph::Activation::kRelu:
      return x > 0 ? 1 : 0;
    case graph::Activation::kGeluErf: {
      const double cdf = 0.5 * std::erfc(-x / std::numbers::sqrt2);
      const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
      return cdf + x * density;
    }
    case graph::Activation::kGeluTanh: {
      const double t = std::tanh(kSlope * (x + kCubic * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kSlope * (1 + 3 * kCubic * x * x);
    }
  }
  return 1;
}

void activation(const Call& call) {
  const auto attributes = graph::ActivationAttributes::from(call.attributes);
  for (std::size_t i = 0; i < call.inputs[0].size(); ++i) {
    call.outputs[0][i] = activate(attributes.kind, call.inputs[0][i]);
  }
}

void activation_grad(const Call& call) {
  const auto attributes = graph::ActivationGradAttributes::from(call.attributes);
  const Tensor& dy = call.inputs[0];
  const Tensor& saved = call.inputs[1];
  for (std::size_t i = 0; i < dy.size(); ++i) {
    call.outputs[0][i] = dy[i] * activation_derivative(attributes.kind, saved[i]);
    if (attributes.bias_grad) call.outputs[1][i % call.outputs[1].size()] += call.outputs[0][i];
  }
}

}  // namespace headway::backend::reference
