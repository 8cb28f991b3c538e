#include "graph/ops/arithmetic.h"

#include "backend/reference/functions.h"
#include "graph/ops/dropout.h"

namespace headway::backend::reference {

// b has the trailing axes of a, so element i of a meets element i mod |b| of b.
void add(const Call& call) {
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  for (std::size_t i = 0; i < a.size(); ++i) call.outputs[0][i] = a[i] + b[i % b.size()];
}

void mul(const Call& call) {
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  for (std::size_t i = 0; i < a.size(); ++i) call.outputs[0][i] = a[i] * b[i % b.size()];
}

void scale(const Call& call) {
  const double factor = graph::ScaleAttributes::from(call.attributes).factor;
  for (std::size_t i = 0; i < call.inputs[0].size(); ++i) call.outputs[0][i] = factor * call.inputs[0][i];
}

void fill(const Call& call) {
  const double value = graph::FillAttributes::from(call.attributes).value;
  for (double& element : call.outputs[0]) element = value;
}

void sum_leading(const Call& call) {
  Tensor& sum = call.outputs[0];
  for (std::size_t i = 0; i < call.inputs[0].size(); ++i) sum[i % sum.size()] += call.inputs[0][i];
}

void accumulate(const Call& call) {
  const Tensor& accumulator = call.inputs[0];
  const Tensor& x = call.inputs[1];
  const bool first = call.inputs[2][graph::kMicroBatch] == 0;
  for (std::size_t i = 0; i < x.size(); ++i) call.outputs[0][i] = first ? x[i] : accumulator[i] + x[i];
}

}  // namespace headway::backend::reference
