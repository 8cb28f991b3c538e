#include "graph/ops/pool.h"

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

std::size_t offset(const Shape& shape, std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t channel) {
  return static_cast<std::size_t>(((n * shape[1] + y) * shape[2] + x) * shape[3] + channel);
}

// Calls body(n, y, x, channel) for each element of a pooled tensor.
template <class Body>
void for_each_window(const Shape& pooled, Body body) {
  for (std::int64_t n = 0; n < pooled[0]; ++n) {
    for (std::int64_t y = 0; y < pooled[1]; ++y) {
      for (std::int64_t x = 0; x < pooled[2]; ++x) {
        for (std::int64_t channel = 0; channel < pooled[3]; ++channel) body(n, y, x, channel);
      }
    }
  }
}

// Row and column of x at a place of the window of (y, x).
std::array<std::int64_t, 2> element_of(const graph::Pool2dAttributes& pool, std::int64_t y, std::int64_t x,
                                       std::int64_t place) {
  return {y * pool.stride[0] - pool.padding[0].before + place / pool.kernel[1],
          x * pool.stride[1] - pool.padding[1].before + place % pool.kernel[1]};
}

}  // namespace

void max_pool2d(const Call& call) {
  const auto pool = graph::Pool2dAttributes::from(call.attributes);
  const Shape& in = call.in_shape(0);
  const Shape& out = call.out_shape(0);
  for_each_window(out, [&](std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t channel) {
    double largest = 0;
    std::int64_t position = -1;
    for (std::int64_t place = 0; place < pool.kernel[0] * pool.kernel[1]; ++place) {
      const auto [row, column] = element_of(pool, y, x, place);
      if (row < 0 || row >= in[1] || column < 0 || column >= in[2]) continue;
      const double candidate = call.inputs[0][offset(in, n, row, column, channel)];
      if (position < 0 || candidate > largest) {
        largest = candidate;
        position = place;
      }
    }
    call.outputs[0][offset(out, n, y, x, channel)] = largest;
    call.outputs[1][offset(out, n, y, x, channel)] = static_cast<double>(position);
  });
}

void max_pool2d_grad(const Call& call) {
  const auto pool = graph::Pool2dGradAttributes::from(call.attributes).pool;
  const Shape& pooled = call.in_shape(0);
  for_each_window(pooled, [&](std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t channel) {
    const std::size_t from = offset(pooled, n, y, x, channel);
    const auto place = static_cast<std::int64_t>(call.inputs[1][from]);
    const auto [row, column] = element_of(pool, y, x, place);
    const Shape& out = call.out_shape(0);
    if (row < 0 || row >= out[1] || column < 0 || column >= out[2]) return;
    call.outputs[0][offset(out, n, row, column, channel)] += call.inputs[0][from];
  });
}

}  // namespace headway::backend::reference
