#include "graph/ops/swiglu.h"

#include "backend/reference/functions.h"
#include "graph/ops/activation.h"

namespace headway::backend::reference {

void swiglu(const Call& call) {
  const Tensor& gate = call.inputs[0];
  for (std::size_t i = 0; i < gate.size(); ++i) {
    call.outputs[0][i] = activate(graph::Activation::kSilu, gate[i]) * call.inputs[1][i];
  }
}

void swiglu_grad(const Call& call) {
  const Tensor& dy = call.inputs[0];
  const Tensor& gate = call.inputs[1];
  const Tensor& up = call.inputs[2];
  for (std::size_t i = 0; i < dy.size(); ++i) {
    call.outputs[0][i] = dy[i] * up[i] * activation_derivative(graph::Activation::kSilu, gate[i]);
    call.outputs[1][i] = dy[i] * activate(graph::Activation::kSilu, gate[i]);
  }
}

}  // namespace headway::backend::reference
