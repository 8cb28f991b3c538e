// Max-pooling and its gradient, channels-last: the channels of a position are the lanes.
#include "graph/ops/pool.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/pool.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

#if !defined(HEADWAY_POOL_SHAPE)
#define HEADWAY_POOL_SHAPE
namespace headway::backend {

// x [batch, height, width, channels], y [batch, out_height, out_width, channels].
struct PoolShape {
  graph::MaxPool2dAttributes pool;
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

// One row of outputs; `x` is the first row of its windows. The first of equal values wins, NaN above all.
void PoolRow(const PoolShape& shape, const float* x, float* y, std::uint8_t* position) {
  const hn::RebindToSigned<FloatTag> ints;
  const std::int64_t channels = shape.channels, row = shape.width * channels;
  for (std::int64_t out = 0; out < shape.out_width; ++out) {
    const float* window = x + out * shape.pool.stride[1] * channels;
    for_each_vector(channels, [&](auto at, std::int64_t j) HWY_ATTR {
      FloatVector best = at.load(window + j);
      auto best_place = hn::Zero(ints);
      std::int32_t place = 0;
      for (std::int64_t ky = 0; ky < shape.pool.kernel[0]; ++ky) {
        for (std::int64_t kx = 0; kx < shape.pool.kernel[1]; ++kx, ++place) {
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
  const std::int64_t channels = shape.channels, kernel_w = shape.pool.kernel[1], first = ky * kernel_w;
  for (std::int64_t out = 0; out < shape.out_width; ++out) {
    const float* dy_at = dy + out * channels;
    const std::uint8_t* position_at = position + out * channels;
    float* window = dx + out * shape.pool.stride[1] * channels;
    std::int64_t j = 0;
    for (; j + kLanes <= channels; j += kLanes) {
      const FloatVector gradient = Whole{}.load(dy_at + j);
      const auto place = hn::PromoteTo(ints, hn::LoadU(bytes, position_at + j));
      for (std::int64_t kx = 0; kx < kernel_w; ++kx) {
        float* to = window + kx * channels + j;
        const auto mine =
            hn::RebindMask(FloatTag(), hn::Eq(place, hn::Set(ints, static_cast<std::int32_t>(first + kx))));
        Whole{}.store(hn::Add(Whole{}.load(to), hn::IfThenElseZero(mine, gradient)), to);
      }
    }
    for (; j < channels; ++j) {
      const std::int64_t kx = position_at[j] - first;
      if (kx >= 0 && kx < kernel_w) window[kx * channels + j] += dy_at[j];
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

PoolShape pool_shape(const graph::MaxPool2dAttributes& pool, const Shape& x, const Shape& y) {
  return {pool, x[0], x[1], x[2], x[3], y[1], y[2]};
}

// dx of input rows [begin, end) of one image, from every output row whose windows reach them, in order.
void grad_rows(const PoolShape& s, const float* dy, const std::uint8_t* position, float* dx, std::int64_t begin,
               std::int64_t end) {
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels;
  std::fill(dx + begin * row, dx + end * row, 0.0F);
  const std::int64_t kernel = s.pool.kernel[0], stride = s.pool.stride[0];
  const std::int64_t first =
      begin < kernel ? 0 : (begin - kernel) / stride + 1;  // the first oy with oy * stride + kernel > begin
  for (std::int64_t oy = first; oy < s.out_height && oy * stride < end; ++oy) {
    for (std::int64_t ky = 0; ky < kernel; ++ky) {
      const std::int64_t y = oy * stride + ky;
      if (y < begin || y >= end) continue;
      HWY_DYNAMIC_DISPATCH(PoolGradRow)(s, ky, dy + oy * out_row, position + oy * out_row, dx + y * row);
    }
  }
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_max_pool2d(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  const PoolShape s = pool_shape(graph::MaxPool2dAttributes::from(request.attributes), request.inputs[0].shape, y);
  const std::int64_t row = s.width * s.channels, out_row = s.out_width * s.channels;
  const Grid grid = grid_of(y.elements() == 0 ? 0 : s.batch * s.out_height, 4 * row * s.pool.stride[0] + 5 * out_row);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    for (std::int64_t i = grid.begin(tile); i < grid.begin(tile) + grid.length(tile); ++i) {
      const std::int64_t image = i / s.out_height, oy = i % s.out_height;
      HWY_DYNAMIC_DISPATCH(PoolRow)
      (s, input(args, 0) + (image * s.height + oy * s.pool.stride[0]) * row, output(args, 0) + i * out_row,
       output<std::uint8_t>(args, 1) + i * out_row);
    }
  });
}

std::unique_ptr<CpuKernel> prepare_max_pool2d_grad(const KernelRequest& request) {
  const Shape& x = request.outputs[0].shape;
  const PoolShape s =
      pool_shape(graph::MaxPool2dGradAttributes::from(request.attributes).pool, x, request.inputs[0].shape);
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
