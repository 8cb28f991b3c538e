// Transposes of any permutation.
//
// Axes of extent 1 are dropped and axes that stay neighbours are merged. What is left is one of two cases: the last
// axis stays last (runs are copied), or a plane of two axes is turned: the axis that is contiguous in the input and the
// one that is in the output. A plane is cut into blocks that fit in the second-level cache with their copy; all other
// axes count planes.
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"
#include "graph/ops/shape_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/transpose.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Rows of four vectors become columns inside each block of 128 bits.
HWY_INLINE void turn_in_blocks(FloatVector* row) {
  const FloatTag d;
  const hn::Repartition<double, FloatTag> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, row[0], row[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, row[2], row[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, row[0], row[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, row[2], row[3]));
  row[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  row[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  row[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  row[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

// kLanes x kLanes: rows of `from` become columns of `to`. Whole vectors are loaded and stored: with AVX-512 these are
// cache lines, so power-of-two strides, which put all rows in one set of the cache, do no harm.
HWY_INLINE void turn_square(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  const FloatTag d;
  FloatVector v[kLanes];
  for (std::int64_t r = 0; r < kLanes; ++r) v[r] = hn::LoadU(d, from + r * from_stride);
  // Then block k of v[4 g + i] is column 4 k + i of rows 4 g .. 4 g + 3; out[4 k + i] collects block k over g.
  for (std::int64_t r = 0; r < kLanes; r += 4) turn_in_blocks(v + r);
  for (std::int64_t i = 0; i < 4; ++i) {
#if HWY_CAP_GE512
    const FloatVector a = v[i], b = v[4 + i], c = v[8 + i], e = v[12 + i];
    const FloatVector even_ab = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    const FloatVector odd_ab = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    const FloatVector even_ce = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(e), c);
    const FloatVector odd_ce = hn::OddEvenBlocks(e, hn::SwapAdjacentBlocks(c));
    hn::StoreU(hn::ConcatLowerLower(d, even_ce, even_ab), d, to + i * to_stride);
    hn::StoreU(hn::ConcatLowerLower(d, odd_ce, odd_ab), d, to + (4 + i) * to_stride);
    hn::StoreU(hn::ConcatUpperUpper(d, even_ce, even_ab), d, to + (8 + i) * to_stride);
    hn::StoreU(hn::ConcatUpperUpper(d, odd_ce, odd_ab), d, to + (12 + i) * to_stride);
#elif HWY_CAP_GE256
    hn::StoreU(hn::ConcatLowerLower(d, v[4 + i], v[i]), d, to + i * to_stride);
    hn::StoreU(hn::ConcatUpperUpper(d, v[4 + i], v[i]), d, to + (4 + i) * to_stride);
#else
    hn::StoreU(v[i], d, to + i * to_stride);
#endif
  }
}

// to[c][r] = from[r][c] for r < rows, c < columns.
void TurnBlock(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, float* to,
               std::int64_t to_stride) {
  const std::int64_t whole_rows = rows - rows % kLanes, whole_columns = columns - columns % kLanes;
  for (std::int64_t r = 0; r < whole_rows; r += kLanes) {
    for (std::int64_t c = 0; c < whole_columns; c += kLanes) {
      turn_square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r) {
      to[c * to_stride + r] = from[r * from_stride + c];
    }
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(TurnBlock);

namespace {

// An axis of the output with its distances between neighbours in both arrays.
struct Axis {
  std::int64_t extent = 1, from = 0, to = 0;
};

// The axes of the output in order: none of extent 1, neighbours merged where both arrays allow it.
std::vector<Axis> output_axes(const Shape& shape, const std::vector<std::int64_t>& permutation) {
  std::vector<std::int64_t> strides(permutation.size(), 1);
  for (std::size_t axis = permutation.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * shape[static_cast<std::int64_t>(axis)];
  }
  std::vector<Axis> axes;
  for (const std::int64_t source : permutation) {
    const Axis axis{shape[source], strides[static_cast<std::size_t>(source)], 0};
    if (axis.extent == 1) continue;
    if (!axes.empty() && axes.back().from == axis.from * axis.extent) {
      axes.back() = {axes.back().extent * axis.extent, axis.from, 0};
    } else {
      axes.push_back(axis);
    }
  }
  std::int64_t stride = 1;
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    axes[axis].to = stride;
    stride *= axes[axis].extent;
  }
  return axes;
}

// Where item `index` of the axes, counted in row-major order, starts in both arrays.
struct Offsets {
  std::int64_t from = 0, to = 0;
};
Offsets offsets_of(const std::vector<Axis>& axes, std::int64_t index) {
  Offsets offsets;
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    const std::int64_t position = index % axes[axis].extent;
    index /= axes[axis].extent;
    offsets.from += position * axes[axis].from;
    offsets.to += position * axes[axis].to;
  }
  return offsets;
}

std::int64_t product_of(const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

// Runs of `length` elements that are contiguous in both arrays.
std::unique_ptr<CpuKernel> copy_kernel(std::vector<Axis> outer, std::int64_t length) {
  if (outer.empty()) {
    const Grid grid = flat_grid(length, 2);
    return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
      std::copy_n(input(args, 0) + grid.begin(tile), grid.length(tile), output(args, 0) + grid.begin(tile));
    });
  }
  const Grid grid = grid_of(product_of(outer), 8 * length);
  return tile_kernel({grid.tiles()}, Bytes(0),
                     [=, outer = std::move(outer)](std::size_t, std::int64_t tile, const KernelArgs& args) {
                       for (std::int64_t run = grid.begin(tile); run < grid.begin(tile) + grid.length(tile); ++run) {
                         const Offsets at = offsets_of(outer, run);
                         std::copy_n(input(args, 0) + at.from, length, output(args, 0) + at.to);
                       }
                     });
}

constexpr std::int64_t kBlock = 128;  // side of a block of a plane: 64 KiB and its copy

// `rows` is the axis that is contiguous in the output, `columns` the one that is in the input.
std::unique_ptr<CpuKernel> turn_kernel(std::vector<Axis> outer, Axis rows, Axis columns) {
  const Grid row_blocks = {rows.extent, kBlock}, column_blocks = {columns.extent, kBlock};
  const std::int64_t blocks = row_blocks.tiles() * column_blocks.tiles();
  const std::int64_t bytes = 8 * std::min(rows.extent, kBlock) * std::min(columns.extent, kBlock);
  const Grid grid = grid_of(product_of(outer) * blocks, bytes);
  return tile_kernel(
      {grid.tiles()}, Bytes(0), [=, outer = std::move(outer)](std::size_t, std::int64_t tile, const KernelArgs& args) {
        for (std::int64_t unit = grid.begin(tile); unit < grid.begin(tile) + grid.length(tile); ++unit) {
          const Offsets plane = offsets_of(outer, unit / blocks);
          const std::int64_t row_block = unit % blocks / column_blocks.tiles();
          const std::int64_t column_block = unit % column_blocks.tiles();
          const std::int64_t r = row_blocks.begin(row_block), c = column_blocks.begin(column_block);
          HWY_DYNAMIC_DISPATCH(TurnBlock)
          (input(args, 0) + plane.from + r * rows.from + c, rows.from, row_blocks.length(row_block),
           column_blocks.length(column_block), output(args, 0) + plane.to + c * columns.to + r, columns.to);
        }
      });
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_transpose(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  if (shape.elements() == 0) return copy_kernel({}, 0);
  std::vector<Axis> axes = output_axes(shape, graph::TransposeAttributes::from(request.attributes).permutation);
  if (axes.empty()) return copy_kernel({}, 1);
  const Axis last = axes.back();
  axes.pop_back();
  if (last.from == 1) return copy_kernel(std::move(axes), last.extent);
  const auto contiguous = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.from == 1; });
  const Axis columns = *contiguous;
  axes.erase(contiguous);
  return turn_kernel(std::move(axes), last, columns);
}

}  // namespace headway::backend
#endif  // HWY_ONCE
