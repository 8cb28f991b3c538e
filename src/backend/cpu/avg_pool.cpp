// Average pooling and its gradient, channels-last: the channels of a position are the lanes.
#include "graph/ops/avg_pool.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"
#include "backend/cpu/window_clip.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/avg_pool.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

#if !defined(HEADWAY_AVG_POOL_SHAPE)
#define HEADWAY_AVG_POOL_SHAPE
namespace headway::backend {

// x [batch, height, width, channels], y [batch, out_height, out_width, channels]; `share` = 1 / positions of a window.
struct AvgPoolShape {
  graph::Pool2dAttributes pool;
  std::int64_t batch, height, width, channels, out_height, out_width;
  float share;
};

}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {

// Row `oy` of the outputs of the image x, windows summed row by row.
void AvgPoolRow(const AvgPoolShape& shape, const float* x, std::int64_t oy, float* y) {
  const std::int64_t channels = shape.channels, row = shape.width * channels;
  const FloatVector share = splat(shape.share);
  const WindowClip rows = clip_window(shape.pool, 0, shape.height, oy);
  for (std::int64_t out = 0; out < shape.out_width; ++out) {
    const WindowClip columns = clip_window(shape.pool, 1, shape.width, out);
    const float* window = x + rows.start * row + columns.start * channels;
    for_each_vector(channels, [&](auto at, std::int64_t j) HWY_ATTR {
      FloatVector sum = splat(0.0F);
      for (std::int64_t ky = rows.begin; ky < rows.end; ++ky) {
        for (std::int64_t kx = columns.begin; kx < columns.end; ++kx) {
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
    const WindowClip columns = clip_window(shape.pool, 1, shape.width, out);
    float* window = dx + columns.start * channels;
    for_each_vector(channels, [&](auto at, std::int64_t j) HWY_ATTR {
      const FloatVector part = hn::Mul(at.load(dy_at + j), share);
      for (std::int64_t kx = columns.begin; kx < columns.end; ++kx) {
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

AvgPoolShape shape_of(const graph::Pool2dAttributes& pool, const Shape& x, const Shape& y) {
  const float share = 1.0F / static_cast<float>(pool.kernel[0] * pool.kernel[1]);
  return {pool, x[0], x[1], x[2], x[3], y[1], y[2], share};
}

// dx of input row `y` of one image, from every output row whose windows reach it, in order.
void grad_row(const AvgPoolShape& s, const float* dy, float* dx, std::int64_t y) {
  const std::int64_t out_row = s.out_width * s.channels, row = s.width * s.channels;
  std::fill(dx, dx + row, 0.0F);
  for (std::int64_t oy = first_window(s.pool, 0, y); oy < s.out_height; ++oy) {
    if (clip_window(s.pool, 0, s.height, oy).start > y) break;
    HWY_DYNAMIC_DISPATCH(AvgPoolGradRow)(s, dy + oy * out_row, dx);
  }
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_avg_pool2d(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  const AvgPoolShape s = shape_of(graph::Pool2dAttributes::from(request.attributes), request.inputs[0].shape, y);
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels;
  const Grid grid = grid_of(y.elements() == 0 ? 0 : s.batch * s.out_height, 4 * (row * s.pool.stride[0] + out_row));
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    for (std::int64_t i = grid.begin(tile); i < grid.begin(tile) + grid.length(tile); ++i) {
      const std::int64_t image = i / s.out_height, oy = i % s.out_height;
      HWY_DYNAMIC_DISPATCH(AvgPoolRow)(s, input(args, 0) + image * s.height * row, oy, output(args, 0) + i * out_row);
    }
  });
}

std::unique_ptr<CpuKernel> prepare_avg_pool2d_grad(const KernelRequest& request) {
  const Shape& x = request.outputs[0].shape;
  const AvgPoolShape s =
      shape_of(graph::Pool2dGradAttributes::from(request.attributes).pool, x, request.inputs[0].shape);
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
