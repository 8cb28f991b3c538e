#include "graph/ops/embedding.h"

#include <limits>

#include "backend/reference/functions.h"

namespace headway::backend::reference {

void embedding(const Call& call) {
  const Tensor& table = call.inputs[0];
  const Tensor& ids = call.inputs[1];
  const auto rows = static_cast<double>(call.in_shape(0)[0]);
  const auto width = static_cast<std::size_t>(call.in_shape(0)[1]);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool known = ids[i] >= 0 && ids[i] < rows;
    for (std::size_t column = 0; column < width; ++column) {
      call.outputs[0][i * width + column] =
          known ? table[static_cast<std::size_t>(ids[i]) * width + column] : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

void embedding_grad(const Call& call) {
  const Tensor& dy = call.inputs[0];
  const Tensor& ids = call.inputs[1];
  const auto rows = static_cast<double>(call.out_shape(0)[0]);
  const auto width = static_cast<std::size_t>(call.out_shape(0)[1]);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= rows) continue;
    for (std::size_t column = 0; column < width; ++column) {
      call.outputs[0][static_cast<std::size_t>(ids[i]) * width + column] += dy[i * width + column];
    }
  }
}

void position_embedding(const Call& call) {
  const Tensor& x = call.inputs[0];
  const Shape& shape = call.in_shape(0);
  const auto period = static_cast<std::size_t>(shape[-2] * shape[-1]);
  for (std::size_t i = 0; i < x.size(); ++i) call.outputs[0][i] = x[i] + call.inputs[1][i % period];
}

void position_embedding_grad(const Call& call) {
  const Tensor& dy = call.inputs[0];
  const Shape& shape = call.in_shape(0);
  const auto period = static_cast<std::size_t>(shape[-2] * shape[-1]);
  for (std::size_t i = 0; i < dy.size(); ++i) call.outputs[0][i % period] += dy[i];
}

}  // namespace headway::backend::reference
