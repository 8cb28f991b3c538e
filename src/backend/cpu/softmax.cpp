// Softmax over rows, and its gradient.
#include "graph/ops/softmax.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/softmax.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

void SoftmaxRows(const float* x, float* y, std::int64_t rows, std::int64_t n) {
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const FloatVector largest = splat(max_over(x, n));
    const float sum =
        sum_storing(n, y, [&](auto at, std::int64_t j) HWY_ATTR { return exp_of(hn::Sub(at.load(x + j), largest)); });
    const FloatVector factor = splat(1.0F / sum);
    transform(
        n, y, [&](FloatVector e) HWY_ATTR { return hn::Mul(e, factor); }, y);
  }
}

void SoftmaxGradRows(const float* dy, const float* y, float* dx, std::int64_t rows, std::int64_t n) {
  for (std::int64_t row = 0; row < rows; ++row, dy += n, y += n, dx += n) {
    const FloatVector dot =
        splat(sum_over(n, [&](auto at, std::int64_t j) HWY_ATTR { return hn::Mul(at.load(dy + j), at.load(y + j)); }));
    transform(
        n, dx, [&](FloatVector p, FloatVector d) HWY_ATTR { return hn::Mul(p, hn::Sub(d, dot)); }, y, dy);
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(SoftmaxRows);
HWY_EXPORT(SoftmaxGradRows);

std::unique_ptr<CpuKernel> prepare_softmax(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const std::int64_t n = shape[-1];
  const Grid grid = grid_of(shape.rows(), 8 * n);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t offset = grid.begin(tile) * n;
    HWY_DYNAMIC_DISPATCH(SoftmaxRows)(input(args, 0) + offset, output(args, 0) + offset, grid.length(tile), n);
  });
}

std::unique_ptr<CpuKernel> prepare_softmax_grad(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const std::int64_t n = shape[-1];
  const Grid grid = grid_of(shape.rows(), 12 * n);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t offset = grid.begin(tile) * n;
    HWY_DYNAMIC_DISPATCH(SoftmaxGradRows)
    (input(args, 0) + offset, input(args, 1) + offset, output(args, 0) + offset, grid.length(tile), n);
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
