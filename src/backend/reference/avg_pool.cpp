#include "graph/ops/avg_pool.h"

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

std::size_t offset(const Shape& shape, std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t channel) {
  return static_cast<std::size_t>(((n * shape[1] + y) * shape[2] + x) * shape[3] + channel);
}

// Calls body(from, to) for each pair of an element of x and an element of y whose window it is in, as offsets.
template <class Body>
void for_each_pair(const graph::Pool2dAttributes& pool, const Shape& x, const Shape& y, Body body) {
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t row = 0; row < y[1]; ++row) {
      for (std::int64_t column = 0; column < y[2]; ++column) {
        for (std::int64_t channel = 0; channel < y[3]; ++channel) {
          for (std::int64_t ky = 0; ky < pool.kernel[0]; ++ky) {
            for (std::int64_t kx = 0; kx < pool.kernel[1]; ++kx) {
              const std::int64_t at_y = row * pool.stride[0] - pool.padding[0].before + ky;
              const std::int64_t at_x = column * pool.stride[1] - pool.padding[1].before + kx;
              if (at_y < 0 || at_y >= x[1] || at_x < 0 || at_x >= x[2]) continue;
              body(offset(x, n, at_y, at_x, channel), offset(y, n, row, column, channel));
            }
          }
        }
      }
    }
  }
}

double positions(const graph::Pool2dAttributes& pool) {
  return static_cast<double>(pool.kernel[0] * pool.kernel[1]);
}

}  // namespace

void avg_pool2d(const Call& call) {
  const auto pool = graph::Pool2dAttributes::from(call.attributes);
  for_each_pair(pool, call.in_shape(0), call.out_shape(0),
                [&](std::size_t x, std::size_t y) { call.outputs[0][y] += call.inputs[0][x] / positions(pool); });
}

void avg_pool2d_grad(const Call& call) {
  const auto pool = graph::Pool2dGradAttributes::from(call.attributes).pool;
  for_each_pair(pool, call.out_shape(0), call.in_shape(0),
                [&](std::size_t x, std::size_t y) { call.outputs[0][x] += call.inputs[0][y] / positions(pool); });
}

}  // namespace headway::backend::reference
