// Element-wise operations on one operand, sums over leading axes, accumulation.
#include "graph/ops/arithmetic.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_sums.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"
#include "graph/ops/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/arithmetic.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

void AddElements(const float* a, const float* b, float* y, std::int64_t n) {
  transform(
      n, y, [](FloatVector v, FloatVector w) HWY_ATTR { return hn::Add(v, w); }, a, b);
}

void ScaleElements(const float* x, float factor, float* y, std::int64_t n) {
  const FloatVector factors = splat(factor);
  transform(
      n, y, [&](FloatVector v) HWY_ATTR { return hn::Mul(v, factors); }, x);
}

// sums = the column sums of a block of rows, `stride` apart; memory is read row after row.
void SumRows(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  if (columns == 1 && stride == 1) {
    *sums = sum_over(rows, [&](auto at, std::int64_t j) HWY_ATTR { return at.load(x + j); });
    return;
  }
  std::fill(sums, sums + columns, 0.0F);
  // Four rows at once, so that the sums are loaded and stored once for all of them.
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4, x += 4 * stride) {
    for_each_vector(columns, [&](auto at, std::int64_t j) HWY_ATTR {
      const FloatVector first = hn::Add(at.load(x + j), at.load(x + stride + j));
      const FloatVector second = hn::Add(at.load(x + 2 * stride + j), at.load(x + 3 * stride + j));
      at.store(hn::Add(at.load(sums + j), hn::Add(first, second)), sums + j);
    });
  }
  for (; row < rows; ++row, x += stride) {
    for_each_vector(columns, [&](auto at, std::int64_t j)
                                 HWY_ATTR { at.store(hn::Add(at.load(sums + j), at.load(x + j)), sums + j); });
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(AddElements);
HWY_EXPORT(ScaleElements);
HWY_EXPORT(SumRows);

void sum_of_rows(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  HWY_DYNAMIC_DISPATCH(SumRows)(x, stride, rows, columns, sums);
}

std::unique_ptr<CpuKernel> prepare_scale(const KernelRequest& request) {
  const auto factor = static_cast<float>(graph::ScaleAttributes::from(request.attributes).factor);
  const Grid grid = flat_grid(request.inputs[0].shape.elements(), 2);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = grid.begin(tile);
    HWY_DYNAMIC_DISPATCH(ScaleElements)(input(args, 0) + begin, factor, output(args, 0) + begin, grid.length(tile));
  });
}

std::unique_ptr<CpuKernel> prepare_fill(const KernelRequest& request) {
  const auto value = static_cast<float>(graph::FillAttributes::from(request.attributes).value);
  const Grid grid = flat_grid(request.outputs[0].shape.elements(), 1);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    std::fill_n(output(args, 0) + grid.begin(tile), grid.length(tile), value);
  });
}

// Tiles are blocks of rows x blocks of columns. Stage 0 sums each, straight into the output when there is one block of
// rows; stage 1 adds the blocks of rows in order.
std::unique_ptr<CpuKernel> prepare_sum_leading(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].shape.elements();
  const std::int64_t row_count = n == 0 ? 0 : request.inputs[0].shape.elements() / n;
  const Grid columns = {n, 4096};
  const Grid rows = grid_of(row_count, 4 * std::min(n, columns.size), 4);
  const bool direct = rows.tiles() == 1;
  std::vector<std::int64_t> stages = {rows.tiles() * columns.tiles()};
  if (!direct) stages.push_back(columns.tiles());
  return tile_kernel(std::move(stages), Bytes(direct ? 0 : 4 * rows.tiles() * n),
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       const std::int64_t first = columns.begin(tile % columns.tiles());
                       const std::int64_t width = columns.length(tile % columns.tiles());
                       if (stage == 0) {
                         const std::int64_t block = tile / columns.tiles();
                         float* sums = direct ? output(args, 0) : scratch(args) + block * n;
                         HWY_DYNAMIC_DISPATCH(SumRows)
                         (input(args, 0) + rows.begin(block) * n + first, n, rows.length(block), width, sums + first);
                       } else {
                         HWY_DYNAMIC_DISPATCH(SumRows)
                         (scratch(args) + first, n, rows.tiles(), width, output(args, 0) + first);
                       }
                     });
}

std::unique_ptr<CpuKernel> prepare_accumulate(const KernelRequest& request) {
  const Grid grid = flat_grid(request.inputs[0].shape.elements(), 3);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = grid.begin(tile), length = grid.length(tile);
    const float* x = input(args, 1) + begin;
    float* to = output(args, 0) + begin;
    if (input<std::int64_t>(args, 2)[graph::kMicroBatch] == 0) {
      std::copy_n(x, length, to);
    } else {
      HWY_DYNAMIC_DISPATCH(AddElements)(input(args, 0) + begin, x, to, length);
    }
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
