// Activations, their gradients, and the bias gradient that comes with them.
#include "backend/cpu/activation_rows.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/activation.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// pre_stride 0 and pre null: the value before the activation is not wanted.
template <class Function>
void bias_rows(Function function, const float* bias, float* y, std::int64_t y_stride, float* pre,
               std::int64_t pre_stride, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float* y_row = y + row * y_stride;
    float* pre_row = pre == nullptr ? nullptr : pre + row * pre_stride;
    if (pre_row == nullptr && bias == nullptr) {
      transform(
          columns, y_row, [&](FloatVector v) HWY_ATTR { return function.value(v); }, y_row);
    } else if (pre_row == nullptr) {
      transform(
          columns, y_row, [&](FloatVector v, FloatVector b) HWY_ATTR { return function.value(hn::Add(v, b)); }, y_row,
          bias);
    } else {
      for_each_vector(columns, [&](auto at, std::int64_t j) HWY_ATTR {
        FloatVector v = at.load(y_row + j);
        if (bias != nullptr) v = hn::Add(v, at.load(bias + j));
        at.store(v, pre_row + j);
        at.store(function.value(v), y_row + j);
      });
    }
  }
}

void BiasActivationRows(graph::Activation kind, const float* bias, float* y, std::int64_t y_stride, float* pre,
                        std::int64_t pre_stride, std::int64_t rows, std::int64_t columns) {
  with_activation(
      kind, [&](auto function) HWY_ATTR { bias_rows(function, bias, y, y_stride, pre, pre_stride, rows, columns); });
}

void Activate(graph::Activation kind, const float* x, float* y, std::int64_t n) {
  with_activation(kind, [&](auto function) HWY_ATTR {
    transform(
        n, y, [&](FloatVector v) HWY_ATTR { return function.value(v); }, x);
  });
}

void ActivationGrad(graph::Activation kind, const float* dy, const float* saved, float* dx, std::int64_t n) {
  with_activation(kind, [&](auto function) HWY_ATTR {
    transform(
        n, dx, [&](FloatVector x, FloatVector d) HWY_ATTR { return function.saved_gradient(x, d); }, saved, dy);
  });
}

void ActivationGradRows(graph::Activation kind, const float* dy, const float* saved, float* dx, std::int64_t rows,
                        std::int64_t columns, float* sums) {
  std::fill(sums, sums + columns, 0.0F);
  with_activation(kind, [&](auto function) HWY_ATTR {
    for (std::int64_t row = 0; row < rows; ++row, dy += columns, saved += columns, dx += columns) {
      for_each_vector(columns, [&](auto at, std::int64_t j) HWY_ATTR {
        const FloatVector gradient = function.saved_gradient(at.load(saved + j), at.load(dy + j));
        const FloatVector sum = hn::Add(at.load(sums + j), gradient);
        at.store(gradient, dx + j);
        at.store(sum, sums + j);
      });
    }
  });
}

void SumPartialRows(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  sum_rows(x, stride, rows, columns, sums);
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(BiasActivationRows);
HWY_EXPORT(Activate);
HWY_EXPORT(ActivationGrad);
HWY_EXPORT(ActivationGradRows);
HWY_EXPORT(SumPartialRows);

void bias_activation_rows(graph::Activation kind, const float* bias, float* y, std::int64_t y_stride, float* pre,
                          std::int64_t pre_stride, std::int64_t rows, std::int64_t columns) {
  HWY_DYNAMIC_DISPATCH(BiasActivationRows)(kind, bias, y, y_stride, pre, pre_stride, rows, columns);
}

void activation_gradient(graph::Activation kind, const float* dy, const float* saved, float* dx, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(ActivationGrad)(kind, dy, saved, dx, n);
}

std::unique_ptr<CpuKernel> prepare_activation(const KernelRequest& request) {
  const graph::Activation kind = graph::ActivationAttributes::from(request.attributes).kind;
  const Grid grid = flat_grid(request.inputs[0].shape.elements(), 2);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = grid.begin(tile);
    HWY_DYNAMIC_DISPATCH(Activate)(kind, input(args, 0) + begin, output(args, 0) + begin, grid.length(tile));
  });
}

std::unique_ptr<CpuKernel> prepare_activation_grad(const KernelRequest& request) {
  const auto attributes = graph::ActivationGradAttributes::from(request.attributes);
  const graph::Activation kind = attributes.kind;
  const Shape& shape = request.inputs[0].shape;
  if (!attributes.bias_grad) {
    const Grid grid = flat_grid(shape.elements(), 3);
    return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
      const std::int64_t begin = grid.begin(tile);
      activation_gradient(kind, input(args, 0) + begin, input(args, 1) + begin, output(args, 0) + begin,
                          grid.length(tile));
    });
  }
  // Stage 0: dx of a block of rows and its column sums; stage 1: the sums of all blocks, in order.
  const std::int64_t columns = shape[-1];
  const Grid rows = grid_of(shape.rows(), 12 * columns), blocks = {columns, 256};
  const Bytes workspace(4 * rows.tiles() * columns);
  return tile_kernel({rows.tiles(), blocks.tiles()}, workspace,
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       if (stage == 0) {
                         const std::int64_t offset = rows.begin(tile) * columns;
                         HWY_DYNAMIC_DISPATCH(ActivationGradRows)
                         (kind, input(args, 0) + offset, input(args, 1) + offset, output(args, 0) + offset,
                          rows.length(tile), columns, scratch(args) + tile * columns);
                       } else {
                         const std::int64_t first = blocks.begin(tile);
                         HWY_DYNAMIC_DISPATCH(SumPartialRows)
                         (scratch(args) + first, columns, rows.tiles(), blocks.length(tile), output(args, 1) + first);
                       }
                     });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
