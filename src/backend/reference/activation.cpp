#include "graph/ops/activation.h"

#include <cmath>
#include <numbers>

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

// GELU by tanh: x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3).
constexpr double kCubic = 0.044715;
const double kSlope = std::sqrt(2 / std::numbers::pi);

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

double activate(graph::Activation activation, double x) {
  switch (activation.kind) {
    case graph::Activation::kNone:
      return x;
    case graph::Activation::kRelu:
      return x > 0 ? x : 0;
    case graph::Activation::kLeakyRelu:
      return x > 0 ? x : activation.slope * x;
    case graph::Activation::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case graph::Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(kSlope * (x + kCubic * x * x * x)));
    case graph::Activation::kSilu:
      return x * sigmoid(x);
    case graph::Activation::kTanh:
      return std::tanh(x);
    case graph::Activation::kSigmoid:
      return sigmoid(x);
  }
  return x;
}

double activation_derivative(graph::Activation activation, double x) {
  switch (activation.kind) {
    case graph::Activation::kNone:
      return 1;
    case graph::Activation::kRelu:
      return x > 0 ? 1 : 0;
    case graph::Activation::kLeakyRelu:
      return x > 0 ? 1 : activation.slope;
    case graph::Activation::kGeluErf: {
      const double cdf = 0.5 * std::erfc(-x / std::numbers::sqrt2);
      const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
      return cdf + x * density;
    }
    case graph::Activation::kGeluTanh: {
      const double t = std::tanh(kSlope * (x + kCubic * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kSlope * (1 + 3 * kCubic * x * x);
    }
    case graph::Activation::kSilu:
      return sigmoid(x) * (1 + x * sigmoid(-x));
    case graph::Activation::kTanh:
      return 1 / (std::cosh(x) * std::cosh(x));
    case graph::Activation::kSigmoid:
      return sigmoid(x) * sigmoid(-x);
  }
  return 1;
}

double derivative_from_saved(graph::Activation activation, double saved) {
  if (activation.kind == graph::Activation::kTanh) return 1 - saved * saved;
  if (activation.kind == graph::Activation::kSigmoid) return saved * (1 - saved);
  return activation_derivative(activation, saved);  // ReLU and LeakyReLU: input and output are positive together
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
    call.outputs[0][i] = dy[i] * derivative_from_saved(attributes.kind, saved[i]);
    if (attributes.bias_grad) call.outputs[1][i % call.outputs[1].size()] += call.outputs[0][i];
  }
}

}  // namespace headway::backend::reference
