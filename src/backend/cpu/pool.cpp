// Max-pooling and its gradient, channels-last: the channels of a position are the lanes.
#include "graph/ops/pool.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"
#include "backend/cpu/window_clip.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/pool.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

#if !defined(HEADWAY_POOL_SHAPE)
#define HEADWAY_POOL_SHAPE
namespace headway::backend {

// x [batch, height, width, channels], y [batch, out_height, out_width, channels].
struct PoolShape {
  graph::Pool2dAttributes pool;
  std::int64_t batch, height, width, channels, out_height, out_width;
};

}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {

// Positions are at most 255; they are kept beside the values in lanes of the same width and narrowed at the end.
HWY_INLINE void store_positions(Whole /*at*/, hn::Vec<hn::RebindToSigned<FloatTag>> positions, std::uint8_t* to) {
  const hn::Rebind<std::uint8_t, FloatTag> bytes;
  hn::StoreU(hn::DemoteTo(bytes, positions), bytes, to);
}
HWY_INLINE void store_positions(First at, hn::Vec<hn::RebindToSigned<FloatTag>> positions, std::uint8_t* to) {
  HWY_ALIGN std::int32_t lanes[kLanes];
  hn::Store(positions, hn::RebindToSigned<FloatTag>(), lanes);
  for (std::int64_t lane = 0; lane < at.count; ++lane) to[lane] = static_cast<std::uint8_t>(lanes[lane]);
}

// Row `oy` of the outputs of the image x. The first of equal values wins, NaN above all.
void PoolRow(const PoolShape& shape, const float* x, std::int64_t oy, float* y, std::uint8_t* position) {
  const hn::RebindToSigned<FloatTag> ints;
  const std::int64_t channels = shape.channels, row = shape.width * channels;
  const WindowClip rows = clip_window(shape.pool, 0, shape.height, oy);
  for (std::int64_t out = 0; out < shape.out_width; ++out) {
    const WindowClip columns = clip_window(shape.pool, 1, shape.width, out);
    const float* window = x + rows.start * row + columns.start * channels;
    for_each_vector(channels, [&](auto at, std::int64_t j) HWY_ATTR {
      FloatVector best = at.load(window + rows.begin * row + columns.begin * channels + j);
      auto best_place = hn::Set(ints, static_cast<std::int32_t>(rows.begin * shape.pool.kernel[1] + columns.begin));
      for (std::int64_t ky = rows.begin; ky < rows.end; ++ky) {
        auto place = static_cast<std::int32_t>(ky * shape.pool.kernel[1] + columns.begin);
        for (std::int64_t kx = columns.begin; kx < columns.end; ++kx, ++place) {
          const FloatVector value = at.load(window + ky * row + kx * channels + j);
          const auto larger = hn::Or(hn::Gt(value, best), hn::And(hn::Ne(value, value), hn::Eq(best, best)));
          best = hn::IfThenElse(larger, value, best);
          best_place = hn::IfThenElse(hn::RebindMask(ints, larger), hn::Set(ints, place), best_place);
        }
      }
      at.store(best, y + out * channels + j);
      store_positions(at, best_place, position + out * channels + j);
    });
  }
}

// What the windows of output row `oy` give to row `ky` of their windows, added to dx (a row of x).
void PoolGradRow(const PoolShape& shape, std::int64_t ky, const float* dy, const std::uint8_t* position, float* dx) {
  const hn::RebindToSigned<FloatTag> ints;
  const hn::Rebind<std::uint8_t, FloatTag> bytes;
  const std::int64_t channels = shape.channels, first = ky * shape.pool.kernel[1];
  for (std::int64_t out = 0; out < shape.out_width; ++out) {
    const WindowClip columns = clip_window(shape.pool, 1, shape.width, out);
    const float* dy_at = dy + out * channels;
    const std::uint8_t* position_at = position + out * channels;
    float* window = dx + columns.start * channels;
    std::int64_t j = 0;
    for (; j + kLanes <= channels; j += kLanes) {
      const FloatVector gradient = Whole{}.load(dy_at + j);
      const auto place = hn::PromoteTo(ints, hn::LoadU(bytes, position_at + j));
      for (std::int64_t kx = columns.begin; kx < columns.end; ++kx) {
        float* to = window + kx * channels + j;
        const auto mine =
            hn::RebindMask(FloatTag(), hn::Eq(place, hn::Set(ints, static_cast<std::int32_t>(first + kx))));
        Whole{}.store(hn::Add(Whole{}.load(to), hn::IfThenElseZero(mine, gradient)), to);
      }
    }
    for (; j < channels; ++j) {
      const std::int64_t kx = position_at[j] - first;
      if (kx >= columns.begin && kx < columns.end) window[kx * channels + j] += dy_at[j];
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {
namespace {

HWY_EXPORT(PoolRow);
HWY_EXPORT(PoolGradRow);

PoolShape pool_shape(const graph::Pool2dAttributes& pool, const Shape& x, const Shape& y) {
  return {pool, x[0], x[1], x[2], x[3], y[1], y[2]};
}

// dx of input rows [begin, end) of one image, from every output row whose windows reach them, in order.
void grad_rows(const PoolShape& s, const float* dy, const std::uint8_t* position, float* dx, std::int64_t begin,
               std::int64_t end) {
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels;
  std::fill(dx + begin * row, dx + end * row, 0.0F);
  for (std::int64_t oy = first_window(s.pool, 0, begin); oy < s.out_height; ++oy) {
    const WindowClip rows = clip_window(s.pool, 0, s.height, oy);
    if (rows.start >= end) break;
    for (std::int64_t ky = rows.begin; ky < rows.end; ++ky) {
      const std::int64_t y = rows.start + ky;
      if (y < begin || y >= end) continue;
      HWY_DYNAMIC_DISPATCH(PoolGradRow)(s, ky, dy + oy * out_row, position + oy * out_row, dx + y * row);
    }
  }
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_max_pool2d(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  const PoolShape s = pool_shape(graph::Pool2dAttributes::from(request.attributes), request.inputs[0].shape, y);
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels;
  const Grid grid = grid_of(y.elements() == 0 ? 0 : s.batch * s.out_height, 4 * row * s.pool.stride[0] + 5 * out_row);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    for (std::int64_t i = grid.begin(tile); i < grid.begin(tile) + grid.length(tile); ++i) {
      const std::int64_t image = i / s.out_height, oy = i % s.out_height;
      HWY_DYNAMIC_DISPATCH(PoolRow)
      (s, input(args, 0) + image * s.height * row, oy, output(args, 0) + i * out_row,
       output<std::uint8_t>(args, 1) + i * out_row);
    }
  });
}

std::unique_ptr<CpuKernel> prepare_max_pool2d_grad(const KernelRequest& request) {
  const Shape& x = request.outputs[0].shape;
  const PoolShape s =
      pool_shape(graph::Pool2dGradAttributes::from(request.attributes).pool, x, request.inputs[0].shape);
  const std::int64_t row = s.width * s.channels;
  // Tiles are whole images when these are many, bands of rows otherwise. Every row of x belongs to one tile.
  const Grid bands = grid_of(x.elements() == 0 ? 0 : s.height, 9 * row);
  const Grid images = {x.elements() == 0 ? 0 : s.batch, 1};
  const std::int64_t band_size = std::max<std::int64_t>(bands.size, s.batch >= 8 ? s.height : 1);
  const Grid grid = {bands.count, band_size};
  const std::int64_t per_image = grid.tiles();
  return tile_kernel({images.count * per_image}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t image = tile / per_image, band = tile % per_image;
    const std::int64_t from = image * s.out_height * s.out_width * s.channels;
    grad_rows(s, input(args, 0) + from, input<std::uint8_t>(args, 1) + from, output(args, 0) + image * s.height * row,
              grid.begin(band), grid.begin(band) + grid.length(band));
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
