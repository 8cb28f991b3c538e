// Element-wise activations and their gradients.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace headway::graph {

enum class Activation : std::uint8_t { kNone, kRelu, kGeluErf, kGeluTanh };
std::string_view name_of(Activation activation);
Activation activation_from_name(std::string_view name);  // InternalError for an unknown name

// Whether the gradient is computed from the output (ReLU) rather than from the input (GELU).
bool gradient_uses_output(Activation activation);

// activation. Input x; output of the same shape.
struct ActivationAttributes {
  Activation kind = Activation::kNone;
  static ActivationAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& activation_op();
ValueId activation(Graph& graph, ValueId x, Activation kind);

// activation_grad. Inputs dy, saved (the output for ReLU, the input otherwise), equal shapes [..., n]; outputs dx and,
// with bias_grad (made by the fusion pass), its sum over all rows [n].
struct ActivationGradAttributes {
  Activation kind = Activation::kNone;
  bool bias_grad = false;
  static ActivationGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& activation_grad_op();

}  // namespace headway::graph
