#include "graph/ops/arithmetic.h"

#include <functional>

#include "backend/reference/functions.h"
#include "graph/ops/dropout.h"
#include "graph/ops/reduce.h"

namespace headway::backend::reference {

namespace {

template <class Operation>
void combine(const Call& call, Operation operation) {
  const Shape& a = call.in_shape(0);
  const Shape& b = call.in_shape(1);
  const std::optional<Shape> y = graph::broadcast(a, b);
  for (std::size_t i = 0; i < call.outputs[0].size(); ++i) {
    call.outputs[0][i] =
        operation(call.inputs[0][broadcast_index(i, *y, a)], call.inputs[1][broadcast_index(i, *y, b)]);
  }
}

}  // namespace

void add(const Call& call) {
  combine(call, std::plus<>());
}

void sub(const Call& call) {
  combine(call, std::minus<>());
}

void mul(const Call& call) {
  combine(call, std::multiplies<>());
}

void div(const Call& call) {
  combine(call, std::divides<>());
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
