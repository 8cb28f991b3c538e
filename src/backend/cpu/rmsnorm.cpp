// RMSNorm with its fused form, and its gradient in one pass over the rows.
//
// With h = x rstd of n columns: dx = rstd (dy gamma - h mean(dy gamma h)), dgamma = sum of dy h over rows. A row is
// read twice, the second time from the first-level cache, as in layernorm.cpp.
#include "graph/ops/rmsnorm.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rmsnorm.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

#ifndef HEADWAY_BACKEND_CPU_RMSNORM_ROWS
#define HEADWAY_BACKEND_CPU_RMSNORM_ROWS
namespace headway::backend {
namespace {

// The operands of a block of rows; null where a form has none.
struct RmsRows {
  const float *x, *gamma, *residual;
  float *y, *rstd, *sum;
  std::int64_t rows, columns;
  float eps;
};

struct RmsGradRows {
  const float *dy, *x, *rstd, *gamma, *extra;
  float *dx, *dgamma;  // dgamma: the sum over the block
  std::int64_t rows, columns;
};

}  // namespace
}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

void RmsNormRows(const RmsRows& block) {
  const std::int64_t n = block.columns;
  for (std::int64_t row = 0; row < block.rows; ++row) {
    const float* s = block.x + row * n;
    if (block.residual != nullptr) {
      float* sum = block.sum + row * n;
      transform(
          n, sum, [](FloatVector x, FloatVector residual) HWY_ATTR { return hn::Add(x, residual); }, s,
          block.residual + row * n);
      s = sum;
    }
    const float squares = sum_over(n, [&](auto at, std::int64_t j) HWY_ATTR {
      const FloatVector v = at.load(s + j);
      return hn::Mul(v, v);
    });
    const float rstd = 1.0F / std::sqrt(squares / static_cast<float>(n) + block.eps);
    const FloatVector rstds = splat(rstd);
    transform(
        n, block.y + row * n,
        [&](FloatVector v, FloatVector gamma) HWY_ATTR { return hn::Mul(hn::Mul(v, rstds), gamma); }, s, block.gamma);
    block.rstd[row] = rstd;
  }
}

void rms_grad_row(const RmsGradRows& block, std::int64_t row) {
  const std::int64_t n = block.columns;
  const float *x = block.x + row * n, *dy = block.dy + row * n;
  float* dx = block.dx + row * n;
  const FloatVector rstds = splat(block.rstd[row]);
  const float products = sum_over(n, [&](auto at, std::int64_t j) HWY_ATTR {
    const FloatVector h = hn::Mul(at.load(x + j), rstds), g = at.load(dy + j);
    at.store(hn::MulAdd(g, h, at.load(block.dgamma + j)), block.dgamma + j);
    return hn::Mul(hn::Mul(g, at.load(block.gamma + j)), h);
  });
  const FloatVector factor = splat(products / static_cast<float>(n) * block.rstd[row]);
  const auto centre = [&](FloatVector v, FloatVector g, FloatVector gamma)
                          HWY_ATTR { return hn::NegMulAdd(v, factor, hn::Mul(g, gamma)); };
  if (block.extra == nullptr) {
    transform(
        n, dx,
        [&](FloatVector v, FloatVector g, FloatVector gamma) HWY_ATTR { return hn::Mul(rstds, centre(v, g, gamma)); },
        x, dy, block.gamma);
  } else {
    transform(
        n, dx,
        [&](FloatVector v, FloatVector g, FloatVector gamma, FloatVector extra)
            HWY_ATTR { return hn::MulAdd(rstds, centre(v, g, gamma), extra); },
        x, dy, block.gamma, block.extra + row * n);
  }
}

void RmsNormGradRows(const RmsGradRows& block) {
  std::fill(block.dgamma, block.dgamma + block.columns, 0.0F);
  for (std::int64_t row = 0; row < block.rows; ++row) rms_grad_row(block, row);
}

void SumRmsPartials(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  sum_rows(x, stride, rows, columns, sums);
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(RmsNormRows);
HWY_EXPORT(RmsNormGradRows);
HWY_EXPORT(SumRmsPartials);

std::unique_ptr<CpuKernel> prepare_rmsnorm(const KernelRequest& request) {
  const auto attributes = graph::RmsNormAttributes::from(request.attributes);
  const Shape& shape = request.inputs[0].shape;
  const std::int64_t n = shape[-1];
  const Grid grid = grid_of(shape.rows(), (attributes.residual ? 16 : 8) * n);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t first = grid.begin(tile), offset = first * n;
    HWY_DYNAMIC_DISPATCH(RmsNormRows)
    (RmsRows{.x = input(args, 0) + offset,
             .gamma = input(args, 1),
             .residual = attributes.residual ? input(args, 2) + offset : nullptr,
             .y = output(args, 0) + offset,
             .rstd = output(args, 1) + first,
             .sum = attributes.residual ? output(args, 2) + offset : nullptr,
             .rows = grid.length(tile),
             .columns = n,
             .eps = static_cast<float>(attributes.eps)});
  });
}

std::unique_ptr<CpuKernel> prepare_rmsnorm_grad(const KernelRequest& request) {
  const bool extra = graph::RmsNormGradAttributes::from(request.attributes).extra;
  const Shape& shape = request.inputs[1].shape;
  const std::int64_t n = shape[-1];
  // Stage 0: dx of a block of rows and its sum for dgamma; stage 1: the sums of all blocks, in order.
  const Grid rows = grid_of(shape.rows(), (extra ? 16 : 12) * n), blocks = {n, 256};
  return tile_kernel({rows.tiles(), blocks.tiles()}, Bytes(4 * rows.tiles() * n),
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       if (stage == 1) {
                         const std::int64_t first = blocks.begin(tile);
                         HWY_DYNAMIC_DISPATCH(SumRmsPartials)
                         (scratch(args) + first, n, rows.tiles(), blocks.length(tile), output(args, 1) + first);
                         return;
                       }
                       const std::int64_t first = rows.begin(tile), offset = first * n;
                       HWY_DYNAMIC_DISPATCH(RmsNormGradRows)
                       (RmsGradRows{.dy = input(args, 0) + offset,
                                    .x = input(args, 1) + offset,
                                    .rstd = input(args, 2) + first,
                                    .gamma = input(args, 3),
                                    .extra = extra ? input(args, 4) + offset : nullptr,
                                    .dx = output(args, 0) + offset,
                                    .dgamma = scratch(args) + tile * n,
                                    .rows = rows.length(tile),
                                    .columns = n});
                     });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
