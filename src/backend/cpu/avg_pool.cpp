// Average pooling and its gradient, channels-last: the channels of a position are the lanes.
#include "graph/ops/avg_pool.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/avg_pool.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

#if !defined(HEADWAY_AVG_POOL_SHAPE)
#define HEADWAY_AVG_POOL_SHAPE
namespace headway::backend {

// x [batch, height, width, channels], y [batch, out_height, out_width, channels]; `share` = 1 / positions of a window.
struct AvgPoolShape {
  graph::AvgPool2dAttributes pool;
  std::int64_t batch, height, width, channels, out_height, out_width;
  float share;
};

}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {

// One row of outputs; `x` is the first row of its windows, summed row by row.
void AvgPoolRow(const AvgPoolShape& shape, const float* x, float* y) {
  const std::int64_t channels = shape.channels, row = shape.width * channels;
  const FloatVector share = splat(shape.share);
  for (std::int64_t out = 0; out < shape.out_width; ++out) {
    const float* window = x + out * shape.pool.stride[1] * channels;
    for_each_vector(channels, [&](auto at, std::int64_t j) HWY_ATTR {
      FloatVector sum = splat(0.0F);
      for (std::int64_t ky = 0; ky < shape.pool.kernel[0]; ++ky) {
        for (std::int64_t kx = 0; kx < shape.pool.kernel[1]; ++kx) {
          sum = hn::Add(sum, at.load(window + ky * row + kx * channels + j));
        }
      }
      at.store(hn::Mul(sum, share), y + out * channels + j);
    });
  }
}

// What a row of windows gives to one row of x below them, added to dx.
void AvgPoolGradRow(const AvgPoolShape& shape, const float* dy, float* dx) {
  const std::int64_t channels = shape.channels;
  const FloatVector share = splat(shape.share);
  for (std::int64_t out = 0; out < shape.out_width; ++out) {
    const float* dy_at = dy + out * channels;
    float* window = dx + out * shape.pool.stride[1] * channels;
    for_each_vector(channels, [&](auto at, std::int64_t j) HWY_ATTR {
      const FloatVector part = hn::Mul(at.load(dy_at + j), share);
      for (std::int64_t kx = 0; kx < shape.pool.kernel[1]; ++kx) {
        float* to = window + kx * channels + j;
        at.store(hn::Add(at.load(to), part), to);
      }
    });
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {
namespace {

HWY_EXPORT(AvgPoolRow);
HWY_EXPORT(AvgPoolGradRow);

AvgPoolShape shape_of(const graph::AvgPool2dAttributes& pool, const Shape& x, const Shape& y) {
  const float share = 1.0F / static_cast<float>(pool.kernel[0] * pool.kernel[1]);
  return {pool, x[0], x[1], x[2], x[3], y[1], y[2], share};
}

// dx of input row `y` of one image, from every output row whose windows reach it, in order.
void grad_row(const AvgPoolShape& s, const float* dy, float* dx, std::int64_t y) {
  const std::int64_t out_row = s.out_width * s.channels, row = s.width * s.channels;
  const std::int64_t kernel = s.pool.kernel[0], stride = s.pool.stride[0];
  std::fill(dx, dx + row, 0.0F);
  // The first oy with oy * stride + kernel > y.
  for (std::int64_t oy = y < kernel ? 0 : (y - kernel) / stride + 1; oy < s.out_height && oy * stride <= y; ++oy) {
    HWY_DYNAMIC_DISPATCH(AvgPoolGradRow)(s, dy + oy * out_row, dx);
  }
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_avg_pool2d(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  const AvgPoolShape s = shape_of(graph::AvgPool2dAttributes::from(request.attributes), request.inputs[0].shape, y);
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels;
  const Grid grid = grid_of(y.elements() == 0 ? 0 : s.batch * s.out_height, 4 * (row * s.pool.stride[0] + out_row));
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    for (std::int64_t i = grid.begin(tile); i < grid.begin(tile) + grid.length(tile); ++i) {
      const std::int64_t image = i / s.out_height, oy = i % s.out_height;
      const float* x = input(args, 0) + (image * s.height + oy * s.pool.stride[0]) * row;
      HWY_DYNAMIC_DISPATCH(AvgPoolRow)(s, x, output(args, 0) + i * out_row);
    }
  });
}

std::unique_ptr<CpuKernel> prepare_avg_pool2d_grad(const KernelRequest& request) {
  const Shape& x = request.outputs[0].shape;
  const AvgPoolShape s =
      shape_of(graph::AvgPool2dGradAttributes::from(request.attributes).pool, x, request.inputs[0].shape);
  const std::int64_t row = s.width * s.channels, image_dy = s.out_height * s.out_width * s.channels;
  // Tiles are rows of x, whatever image they are in: each row has one tile that adds all it gets.
  const Grid grid = grid_of(x.elements() == 0 ? 0 : s.batch * s.height, 8 * row);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    for (std::int64_t i = grid.begin(tile); i < grid.begin(tile) + grid.length(tile); ++i) {
      grad_row(s, input(args, 0) + i / s.height * image_dy, output(args, 0) + i * row, i % s.height);
    }
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
