#include "graph/ops/softmax.h"

#include <algorithm>
#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {

void softmax(const Call& call) {
  const auto width = static_cast<std::size_t>(call.in_shape(0)[-1]);
  if (width == 0) return;
  for (std::size_t start = 0; start < call.inputs[0].size(); start += width) {
    const double* x = call.inputs[0].data() + start;
    const double largest = *std::max_element(x, x + width);
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += std::exp(x[i] - largest);
    for (std::size_t i = 0; i < width; ++i) call.outputs[0][start + i] = std::exp(x[i] - largest) / sum;
  }
}

void softmax_grad(const Call& call) {
  const auto width = static_cast<std::size_t>(call.in_shape(0)[-1]);
  if (width == 0) return;
  for (std::size_t start = 0; start < call.inputs[0].size(); start += width) {
    const double* dy = call.inputs[0].data() + start;
    const double* y = call.inputs[1].data() + start;
    double dot = 0;
    for (std::size_t i = 0; i < width; ++i) dot += dy[i] * y[i];
    for (std::size_t i = 0; i < width; ++i) call.outputs[0][start + i] = y[i] * (dy[i] - dot);
  }
}

}  // namespace headway::backend::reference
