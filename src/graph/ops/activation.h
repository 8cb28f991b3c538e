// Element-wise activations and their gradients.
#pragma once

#include <array>
#include <string_view>

#include "graph/graph.h"

namespace headway::graph {

// Which function, and the slope of leaky_relu below 0 (of the others nothing).
struct Activation {
  enum Kind : std::uint8_t { kNone, kRelu, kLeakyRelu, kGeluErf, kGeluTanh, kSilu, kTanh, kSigmoid };
  static constexpr double kDefaultSlope = 0.01;  // PyTorch's

  Kind kind = kNone;
  double slope = kDefaultSlope;

  constexpr Activation() = default;
  constexpr Activation(Kind which, double below = kDefaultSlope) : kind(which), slope(below) {}
  bool operator==(const Activation&) const = default;

  // From and into the attributes of a node: the kind's name under `name`, and for leaky_relu the slope beside it.
  static Activation from(const Attributes& attributes, std::string_view name);
  void write(Attributes& attributes, const std::string& name) const;
};
// Every kind but kNone.
inline constexpr std::array<Activation::Kind, 7> kActivations = {
    Activation::kRelu, Activation::kLeakyRelu, Activation::kGeluErf, Activation::kGeluTanh,
    Activation::kSilu, Activation::kTanh,      Activation::kSigmoid};

std::string_view name_of(Activation activation);
Activation activation_from_name(std::string_view name);  // InternalError for an unknown name

// Whether the gradient is computed from the output (ReLU, LeakyReLU, tanh, sigmoid) rather than from the input.
bool gradient_uses_output(Activation activation);

// activation. Input x; output of the same shape. A slope is 0 or more: below, the output would not tell the input.
struct ActivationAttributes {
  Activation kind = Activation::kNone;
  static ActivationAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& activation_op();
ValueId activation(Graph& graph, ValueId x, Activation kind);

// activation_grad. Inputs dy, saved (the output where gradient_uses_output, the input otherwise), equal shapes
// [..., n]; outputs dx and, with bias_grad (made by the fusion pass), its sum over all rows [n].
struct ActivationGradAttributes {
  Activation kind = Activation::kNone;
  bool bias_grad = false;
  static ActivationGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& activation_grad_op();

}  // namespace headway::graph
