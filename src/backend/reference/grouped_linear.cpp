#include "graph/ops/grouped_linear.h"

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

// body(group, row) for the rows of each group.
template <class Body>
void for_each_row(const Tensor& offsets, const Body& body) {
  for (std::size_t group = 0; group + 1 < offsets.size(); ++group) {
    for (auto row = static_cast<std::size_t>(offsets[group]); row < static_cast<std::size_t>(offsets[group + 1]);
         ++row) {
      body(group, row);
    }
  }
}

}  // namespace

void grouped_linear(const Call& call) {
  const auto attributes = graph::LinearAttributes::from(call.attributes);
  const auto n = static_cast<std::size_t>(call.in_shape(1)[1]), k = static_cast<std::size_t>(call.in_shape(1)[2]);
  for_each_row(call.inputs[2], [&](std::size_t group, std::size_t row) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = call.inputs.size() == 4 ? call.inputs[3][group * n + j] : 0;
      for (std::size_t i = 0; i < k; ++i) sum += call.inputs[0][row * k + i] * call.inputs[1][(group * n + j) * k + i];
      call.outputs[0][row * n + j] = activate(attributes.activation, sum);
      if (attributes.keep_pre) call.outputs[1][row * n + j] = sum;
    }
  });
}

void grouped_linear_grad_input(const Call& call) {
  const auto n = static_cast<std::size_t>(call.in_shape(1)[1]), k = static_cast<std::size_t>(call.in_shape(1)[2]);
  for_each_row(call.inputs[2], [&](std::size_t group, std::size_t row) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < k; ++i) {
        call.outputs[0][row * k + i] += call.inputs[0][row * n + j] * call.inputs[1][(group * n + j) * k + i];
      }
    }
  });
}

void grouped_linear_grad_weight(const Call& call) {
  const auto n = static_cast<std::size_t>(call.in_shape(0)[1]), k = static_cast<std::size_t>(call.in_shape(1)[1]);
  for_each_row(call.inputs[2], [&](std::size_t group, std::size_t row) {
    for (std::size_t j = 0; j < n; ++j) {
      const double dy = call.inputs[0][row * n + j];
      if (call.outputs.size() > 1) call.outputs[1][group * n + j] += dy;
      for (std::size_t i = 0; i < k; ++i) call.outputs[0][(group * n + j) * k + i] += dy * call.inputs[1][row * k + i];
    }
  });
}

}  // namespace headway::backend::reference
