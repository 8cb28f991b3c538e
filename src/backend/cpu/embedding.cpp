// Rows of a table by index, and the sum of gradients into them.
#include "graph/ops/embedding.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/embedding.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Adds columns [0, width) of the rows of dy to those of the table, in the order of ids; rows are `stride` apart in
// both.
void AddRows(const float* dy, const std::int32_t* ids, std::int64_t count, std::int64_t stride, std::int64_t width,
             std::int64_t table_rows, float* table) {
  for (std::int64_t index = 0; index < count; ++index) {
    const std::int64_t row = ids[index];
    if (row < 0 || row >= table_rows) continue;
    const float* from = dy + index * stride;
    float* to = table + row * stride;
    for_each_vector(width, [&](auto at, std::int64_t j)
                               HWY_ATTR { at.store(hn::Add(at.load(to + j), at.load(from + j)), to + j); });
  }
}

// y = x + table over n elements.
void AddPositions(const float* x, const float* table, std::int64_t n, float* y) {
  transform(
      n, y, [](FloatVector v, FloatVector w) HWY_ATTR { return hn::Add(v, w); }, x, table);
}

// sums = the sum of `count` arrays of n elements, `stride` apart.
void SumArrays(const float* x, std::int64_t stride, std::int64_t count, std::int64_t n, float* sums) {
  sum_rows(x, stride, count, n, sums);
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(AddRows);
HWY_EXPORT(AddPositions);
HWY_EXPORT(SumArrays);

std::unique_ptr<CpuKernel> prepare_embedding(const KernelRequest& request) {
  const std::int64_t rows = request.inputs[0].shape[0], n = request.inputs[0].shape[1];
  const Grid grid = grid_of(request.inputs[1].shape.elements(), 8 * n);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int32_t* ids = input<std::int32_t>(args, 1);
    for (std::int64_t index = grid.begin(tile); index < grid.begin(tile) + grid.length(tile); ++index) {
      float* to = output(args, 0) + index * n;
      if (ids[index] >= 0 && ids[index] < rows) {
        std::copy_n(input(args, 0) + ids[index] * n, n, to);
      } else {
        std::fill_n(to, n, std::numeric_limits<float>::quiet_NaN());
      }
    }
  });
}

// Stage 0 clears the table; in stage 1 a tile owns a block of columns and walks over all ids, so a row is summed in
// their order whichever ids are frequent.
std::unique_ptr<CpuKernel> prepare_embedding_grad(const KernelRequest& request) {
  const std::int64_t rows = request.outputs[0].shape[0], n = request.outputs[0].shape[1];
  const std::int64_t count = request.inputs[1].shape.elements();
  const Grid elements = flat_grid(rows * n, 1), columns = {n, 64};
  return tile_kernel({elements.tiles(), columns.tiles()}, Bytes(0),
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       if (stage == 0) {
                         std::fill_n(output(args, 0) + elements.begin(tile), elements.length(tile), 0.0F);
                         return;
                       }
                       const std::int64_t first = columns.begin(tile);
                       HWY_DYNAMIC_DISPATCH(AddRows)
                       (input(args, 0) + first, input<std::int32_t>(args, 1), count, n, columns.length(tile), rows,
                        output(args, 0) + first);
                     });
}

// A tile is a range of positions of one sequence.
std::unique_ptr<CpuKernel> prepare_position_embedding(const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape;
  const std::int64_t n = x[-1], sequence = x[-2], sequences = n * sequence == 0 ? 0 : x.elements() / (n * sequence);
  const Grid positions = grid_of(sequence, 12 * n);
  return tile_kernel(
      {sequences * positions.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
        const std::int64_t part = tile % positions.tiles(), at = positions.begin(part) * n;
        const std::int64_t begin = tile / positions.tiles() * sequence * n + at;
        HWY_DYNAMIC_DISPATCH(AddPositions)
        (input(args, 0) + begin, input(args, 1) + at, positions.length(part) * n, output(args, 0) + begin);
      });
}

// A tile owns elements of the table.
std::unique_ptr<CpuKernel> prepare_position_embedding_grad(const KernelRequest& request) {
  const Shape& dy = request.inputs[0].shape;
  const std::int64_t period = dy[-1] * dy[-2], sequences = period == 0 ? 0 : dy.elements() / period;
  const Grid elements = flat_grid(request.outputs[0].shape.elements(), 2);
  return tile_kernel({elements.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = elements.begin(tile), length = elements.length(tile);
    const std::int64_t used = std::clamp<std::int64_t>(period - begin, 0, length);
    float* to = output(args, 0) + begin;
    if (used > 0) HWY_DYNAMIC_DISPATCH(SumArrays)(input(args, 0) + begin, period, sequences, used, to);
    std::fill(to + used, to + length, 0.0F);
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
