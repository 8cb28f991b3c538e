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

// 4 x 4: rows of `from` become columns of `to`.
HWY_INLINE void turn_4x4(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> pairs;
  const auto row0 = hn::LoadU(d, from), row1 = hn::LoadU(d, from + from_stride);
  const auto row2 = hn::LoadU(d, from + 2 * from_stride), row3 = hn::LoadU(d, from + 3 * from_stride);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, row0, row1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, row2, row3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, row0, row1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, row2, row3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * to_stride);
}

// to[c][r] = from[r][c] for r < rows, c < columns. Sixteen rows at a time: four columns of them are four whole cache
// lines of the output.
void TurnBlock(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, float* to,
               std::int64_t to_stride) {
  const std::int64_t whole_columns = columns - columns % 4;
  std::int64_t first = 0;
  while (first + 4 <= rows) {
    const std::int64_t count = first + 16 <= rows ? 16 : 4;
    for (std::int64_t c = 0; c < whole_columns; c += 4) {
      for (std::int64_t r = first; r < first + count; r += 4) {
        turn_4x4(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
      }
    }
    for (std::int64_t c = whole_columns; c < columns; ++c) {
      for (std::int64_t r = first; r < first + count; ++r) to[c * to_stride + r] = from[r * from_stride + c];
    }
    first += count;
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = first; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
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
