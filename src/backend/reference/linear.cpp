#include "graph/ops/linear.h"

#include "backend/reference/functions.h"

namespace headway::backend::reference {

void linear(const Call& call) {
  const auto attributes = graph::LinearAttributes::from(call.attributes);
  const Tensor& x = call.inputs[0];
  const Tensor& w = call.inputs[1];
  const auto n = static_cast<std::size_t>(call.in_shape(1)[0]);
  const auto k = static_cast<std::size_t>(call.in_shape(1)[1]);
  const auto rows = static_cast<std::size_t>(call.in_shape(0).rows());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = call.inputs.size() > 2 ? call.inputs[2][column] : 0;
      for (std::size_t inner = 0; inner < k; ++inner) sum += x[row * k + inner] * w[column * k + inner];
      call.outputs[0][row * n + column] = activate(attributes.activation, sum);
      if (attributes.keep_pre) call.outputs[1][row * n + column] = sum;
    }
  }
}

void matmul(const Call& call) {
  const auto attributes = graph::MatmulAttributes::from(call.attributes);
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  const Shape& a_shape = call.in_shape(0);
  const Shape& b_shape = call.in_shape(1);
  // The matrices of one product: rows and columns as stored.
  const std::int64_t a_rows = attributes.flatten ? a_shape.rows() : a_shape[-2];
  const std::int64_t a_columns = a_shape[-1];
  const std::int64_t b_rows = attributes.flatten ? b_shape.rows() : b_shape[-2];
  const std::int64_t b_columns = b_shape[-1];
  const std::int64_t m = attributes.transpose_a ? a_columns : a_rows;
  const std::int64_t k = attributes.transpose_a ? a_rows : a_columns;
  const std::int64_t n = attributes.transpose_b ? b_rows : b_columns;
  std::int64_t batch = 1;
  for (std::int64_t axis = 0; !attributes.flatten && axis < a_shape.rank() - 2; ++axis) batch *= a_shape[axis];
  for (std::int64_t item = 0; item < batch; ++item) {
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (std::int64_t inner = 0; inner < k; ++inner) {
          const std::int64_t at_a = attributes.transpose_a ? inner * a_columns + row : row * a_columns + inner;
          const std::int64_t at_b = attributes.transpose_b ? column * b_columns + inner : inner * b_columns + column;
          sum += a[static_cast<std::size_t>(item * m * k + at_a)] * b[static_cast<std::size_t>(item * k * n + at_b)];
        }
        call.outputs[0][static_cast<std::size_t>((item * m + row) * n + column)] = sum;
      }
    }
  }
}

}  // namespace headway::backend::reference
