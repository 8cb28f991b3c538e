// LayerNorm with its fused forms, and its gradient in one pass over the rows.
//
// With h = (x - mean) rstd and dz the gradient at h gamma + beta, of n columns:
//   dx = rstd (dz gamma - mean(dz gamma) - h mean(dz gamma h)),  dgamma = sum of dz h over rows,  dbeta = sum of dz.
// A row is read twice, the second time from the first-level cache; dz gamma waits for its means in dx. The sums over
// rows are loaded and stored with every row: less often, with four rows of every operand at once, was slower by a third
// (12 streams of memory).
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"
#include "graph/ops/layernorm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/layernorm.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_math-inl.h"

#ifndef HEADWAY_BACKEND_CPU_LAYERNORM_ROWS
#define HEADWAY_BACKEND_CPU_LAYERNORM_ROWS
namespace headway::backend {
namespace {

// The operands of a block of rows; null where a form has none.
struct NormRows {
  const float *x, *gamma, *beta, *residual;
  float *y, *mean, *rstd, *sum;
  std::int64_t rows, columns;
  float eps;
};

struct NormGradRows {
  const float *dy, *x, *mean, *rstd, *gamma, *beta, *extra;
  float *dx, *dgamma, *dbeta;  // dgamma, dbeta: sums over the block
  std::int64_t rows, columns;
};

}  // namespace
}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Rows that are worked on together: what each waits for (the sum of a vector's lanes, a root, a quotient) takes longer
// than a short row, and the waits of different rows overlap.
constexpr std::int64_t kTogether = 4;

// body(i, row) for the rows of a group, i from 0.
template <class Body>
HWY_INLINE void for_each_row(std::int64_t first, std::int64_t rows, const Body& body) {
  for (std::int64_t i = 0; i < rows; ++i) body(i, first + i);
}

template <class Function>
void norm_rows(Function function, const NormRows& block, std::int64_t first, std::int64_t rows) {
  const std::int64_t n = block.columns;
  const float* all = block.residual == nullptr ? block.x : block.sum;
  float mean[kTogether], rstd[kTogether];  // NOLINT(modernize-avoid-c-arrays)
  for_each_row(first, rows, [&](std::int64_t i, std::int64_t row) HWY_ATTR {
    const float* x = block.x + row * n;
    float total = 0;
    if (block.residual != nullptr) {
      const float* residual = block.residual + row * n;
      total = sum_storing(n, block.sum + row * n, [&](auto at, std::int64_t j) HWY_ATTR {
        return hn::Add(at.load(x + j), at.load(residual + j));
      });
    } else {
      total = sum_over(n, [&](auto at, std::int64_t j) HWY_ATTR { return at.load(x + j); });
    }
    mean[i] = total / static_cast<float>(n);
  });
  for_each_row(first, rows, [&](std::int64_t i, std::int64_t row) HWY_ATTR {
    const FloatVector means = splat(mean[i]);
    const float squares = sum_over(n, [&](auto at, std::int64_t j) HWY_ATTR {
      const FloatVector centred = hn::Sub(at.load(all + row * n + j), means);
      return hn::Mul(centred, centred);
    });
    rstd[i] = 1.0F / std::sqrt(squares / static_cast<float>(n) + block.eps);
  });
  for_each_row(first, rows, [&](std::int64_t i, std::int64_t row) HWY_ATTR {
    const FloatVector means = splat(mean[i]), rstds = splat(rstd[i]);
    transform(
        n, block.y + row * n,
        [&](FloatVector v, FloatVector gamma, FloatVector beta)
            HWY_ATTR { return function.value(hn::MulAdd(hn::Mul(hn::Sub(v, means), rstds), gamma, beta)); },
        all + row * n, block.gamma, block.beta);
    block.mean[row] = mean[i];
    block.rstd[row] = rstd[i];
  });
}

void LayerNormRows(graph::Activation kind, const NormRows& block) {
  with_activation(kind, [&](auto function) HWY_ATTR {
    for (std::int64_t row = 0; row < block.rows; row += kTogether) {
      norm_rows(function, block, row, std::min(kTogether, block.rows - row));
    }
  });
}

template <class Function>
void norm_grad_rows(Function function, const NormGradRows& block, std::int64_t first, std::int64_t rows) {
  const std::int64_t n = block.columns;
  float mean_dh[kTogether], mean_dhh[kTogether];  // NOLINT(modernize-avoid-c-arrays)
  for_each_row(first, rows, [&](std::int64_t i, std::int64_t row) HWY_ATTR {
    const float *x = block.x + row * n, *dy = block.dy + row * n;
    float* dx = block.dx + row * n;
    const FloatVector means = splat(block.mean[row]), rstds = splat(block.rstd[row]);
    FloatVector sums = splat(0.0F), products = sums;
    for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR {
      const FloatVector gamma = at.load(block.gamma + j), beta = at.load(block.beta + j);
      const FloatVector h = hn::Mul(hn::Sub(at.load(x + j), means), rstds);
      const FloatVector dz = function.gradient(hn::MulAdd(h, gamma, beta), at.load(dy + j));
      const FloatVector dgamma = hn::MulAdd(dz, h, at.load(block.dgamma + j));
      const FloatVector dbeta = hn::Add(dz, at.load(block.dbeta + j));
      const FloatVector dh = hn::Mul(dz, gamma);  // 0 in lanes behind the row
      sums = hn::Add(sums, dh);
      products = hn::Add(products, at.keep(hn::Mul(dh, h)));
      at.store(dh, dx + j);
      at.store(dgamma, block.dgamma + j);
      at.store(dbeta, block.dbeta + j);
    });
    mean_dh[i] = sum_of_lanes(sums) / static_cast<float>(n);
    mean_dhh[i] = sum_of_lanes(products) / static_cast<float>(n);
  });
  for_each_row(first, rows, [&](std::int64_t i, std::int64_t row) HWY_ATTR {
    const float* x = block.x + row * n;
    float* dx = block.dx + row * n;
    const FloatVector means = splat(block.mean[row]), rstds = splat(block.rstd[row]);
    const FloatVector dh_mean = splat(mean_dh[i]), dhh_mean = splat(mean_dhh[i]);
    const auto centre = [&](FloatVector v, FloatVector dh) HWY_ATTR {
      const FloatVector h = hn::Mul(hn::Sub(v, means), rstds);
      return hn::NegMulAdd(h, dhh_mean, hn::Sub(dh, dh_mean));
    };
    if (block.extra == nullptr) {
      transform(
          n, dx, [&](FloatVector v, FloatVector dh) HWY_ATTR { return hn::Mul(rstds, centre(v, dh)); }, x, dx);
    } else {
      transform(
          n, dx,
          [&](FloatVector v, FloatVector dh, FloatVector extra)
              HWY_ATTR { return hn::MulAdd(rstds, centre(v, dh), extra); },
          x, dx, block.extra + row * n);
    }
  });
}

void LayerNormGradRows(graph::Activation kind, const NormGradRows& block) {
  std::fill(block.dgamma, block.dgamma + block.columns, 0.0F);
  std::fill(block.dbeta, block.dbeta + block.columns, 0.0F);
  with_activation(kind, [&](auto function) HWY_ATTR {
    for (std::int64_t row = 0; row < block.rows; row += kTogether) {
      norm_grad_rows(function, block, row, std::min(kTogether, block.rows - row));
    }
  });
}

void SumNormPartials(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  sum_rows(x, stride, rows, columns, sums);
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(LayerNormRows);
HWY_EXPORT(LayerNormGradRows);
HWY_EXPORT(SumNormPartials);

std::unique_ptr<CpuKernel> prepare_layernorm(const KernelRequest& request) {
  const auto attributes = graph::LayerNormAttributes::from(request.attributes);
  const Shape& shape = request.inputs[0].shape;
  const std::int64_t n = shape[-1];
  const Grid grid = grid_of(shape.rows(), (attributes.residual ? 16 : 8) * n);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t first = grid.begin(tile), offset = first * n;
    HWY_DYNAMIC_DISPATCH(LayerNormRows)
    (attributes.activation, NormRows{.x = input(args, 0) + offset,
                                     .gamma = input(args, 1),
                                     .beta = input(args, 2),
                                     .residual = attributes.residual ? input(args, 3) + offset : nullptr,
                                     .y = output(args, 0) + offset,
                                     .mean = output(args, 1) + first,
                                     .rstd = output(args, 2) + first,
                                     .sum = attributes.residual ? output(args, 3) + offset : nullptr,
                                     .rows = grid.length(tile),
                                     .columns = n,
                                     .eps = static_cast<float>(attributes.eps)});
  });
}

std::unique_ptr<CpuKernel> prepare_layernorm_grad(const KernelRequest& request) {
  const auto attributes = graph::LayerNormGradAttributes::from(request.attributes);
  const Shape& shape = request.inputs[1].shape;
  const std::int64_t n = shape[-1];
  // Stage 0: dx of a block of rows and its sums for dgamma and dbeta; stage 1: the sums of all blocks, in order.
  const Grid rows = grid_of(shape.rows(), (attributes.extra ? 16 : 12) * n), blocks = {n, 256};
  const Bytes workspace(8 * rows.tiles() * n);
  return tile_kernel(
      {rows.tiles(), blocks.tiles()}, workspace, [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
        if (stage == 1) {
          const std::int64_t first = blocks.begin(tile);
          for (std::size_t which = 0; which < 2; ++which) {  // dgamma, dbeta
            HWY_DYNAMIC_DISPATCH(SumNormPartials)
            (scratch(args) + static_cast<std::int64_t>(which) * n + first, 2 * n, rows.tiles(), blocks.length(tile),
             output(args, 1 + which) + first);
          }
          return;
        }
        const std::int64_t first = rows.begin(tile), offset = first * n;
        float* partial = scratch(args) + tile * 2 * n;
        HWY_DYNAMIC_DISPATCH(LayerNormGradRows)
        (attributes.activation, NormGradRows{.dy = input(args, 0) + offset,
                                             .x = input(args, 1) + offset,
                                             .mean = input(args, 2) + first,
                                             .rstd = input(args, 3) + first,
                                             .gamma = input(args, 4),
                                             .beta = input(args, 5),
                                             .extra = attributes.extra ? input(args, 6) + offset : nullptr,
                                             .dx = output(args, 0) + offset,
                                             .dgamma = partial,
                                             .dbeta = partial + n,
                                             .rows = rows.length(tile),
                                             .columns = n});
      });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
