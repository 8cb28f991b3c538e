// Losses: a tile sums its rows into one f64 of the workspace, and one last tile adds these in order.
#include "graph/ops/loss.h"

#include <cmath>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/loss.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

inline bool is_class(std::int32_t label, std::int64_t classes) {
  return label >= 0 && label < classes;
}

// The sum of the rows' losses; writes log-sum-exps, or with dlogits (softmax - one at the label) * scale.
double CrossEntropyRows(const float* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes,
                        float scale, float* log_sum_exp, float* dlogits) {
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* x = logits + row * classes;
    const float max = max_over(x, classes);
    const FloatVector largest = splat(max);
    float sum = 0;
    if (dlogits == nullptr) {
      sum =
          sum_over(classes, [&](auto at, std::int64_t j) HWY_ATTR { return exp_of(hn::Sub(at.load(x + j), largest)); });
      log_sum_exp[row] = max + std::log(sum);
    } else {
      float* dx = dlogits + row * classes;
      sum = sum_storing(classes, dx,
                        [&](auto at, std::int64_t j) HWY_ATTR { return exp_of(hn::Sub(at.load(x + j), largest)); });
      const FloatVector factor = splat(scale / sum);
      transform(
          classes, dx, [&](FloatVector e) HWY_ATTR { return hn::Mul(e, factor); }, dx);
      if (is_class(labels[row], classes)) dx[labels[row]] -= scale;
    }
    // log(sum) - (x[label] - max): the two differences are exact or small, whatever the size of the logits.
    total += is_class(labels[row], classes) ? static_cast<double>(std::log(sum)) - (x[labels[row]] - max)
                                            : std::numeric_limits<double>::quiet_NaN();
  }
  return total;
}

void CrossEntropyGradRows(const float* logits, const std::int32_t* labels, const float* log_sum_exp, float scale,
                          std::int64_t rows, std::int64_t classes, float* dlogits) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* x = logits + row * classes;
    float* dx = dlogits + row * classes;
    const FloatVector lse = splat(log_sum_exp[row]), factor = splat(scale);
    transform(
        classes, dx, [&](FloatVector v) HWY_ATTR { return hn::Mul(exp_of(hn::Sub(v, lse)), factor); }, x);
    if (is_class(labels[row], classes)) dx[labels[row]] -= scale;
  }
}

// The sum of term(prediction, target) over n elements: in f32 over 4096 of them, then in f64.
template <class Term>
HWY_INLINE double sum_of_terms(const float* x, const float* target, std::int64_t n, const Term& term) {
  double total = 0;
  for (std::int64_t first = 0; first < n; first += 4096) {
    const float *a = x + first, *b = target + first;
    total += sum_over(n - first < 4096 ? n - first : 4096,
                      [&](auto at, std::int64_t j) HWY_ATTR { return term(at.load(a + j), at.load(b + j)); });
  }
  return total;
}

double SquaredError(const float* x, const float* target, std::int64_t n) {
  return sum_of_terms(x, target, n, [](FloatVector v, FloatVector t) HWY_ATTR {
    const FloatVector difference = hn::Sub(v, t);
    return hn::Mul(difference, difference);
  });
}

void SquaredErrorGrad(const float* x, const float* target, float factor, float* dx, std::int64_t n) {
  const FloatVector factors = splat(factor);
  transform(
      n, dx, [&](FloatVector v, FloatVector t) HWY_ATTR { return hn::Mul(hn::Sub(v, t), factors); }, x, target);
}

// log(1 + u) for 0 <= u <= 1: 2 artanh(s) with s = u / (2 + u) <= 1/3, whose series ends here at a relative 1e-8.
HWY_INLINE FloatVector log_of_1_plus(FloatVector u) {
  const FloatVector s = hn::Div(u, hn::Add(splat(2.0F), u));
  const FloatVector square = hn::Mul(s, s);
  FloatVector p = splat(2.0F / 13);
  p = hn::MulAdd(p, square, splat(2.0F / 11));
  p = hn::MulAdd(p, square, splat(2.0F / 9));
  p = hn::MulAdd(p, square, splat(2.0F / 7));
  p = hn::MulAdd(p, square, splat(2.0F / 5));
  p = hn::MulAdd(p, square, splat(2.0F / 3));
  p = hn::MulAdd(p, square, splat(2.0F));
  return hn::Mul(s, p);
}

double BinaryCrossEntropy(const float* x, const float* target, std::int64_t n) {
  return sum_of_terms(x, target, n, [](FloatVector v, FloatVector t) HWY_ATTR {
    // v second in Max: x86 gives it back when it is NaN.
    const FloatVector linear = hn::NegMulAdd(v, t, hn::Max(splat(0.0F), v));
    return hn::Add(linear, log_of_1_plus(exp_of(hn::Neg(hn::Abs(v)))));
  });
}

void BinaryCrossEntropyGrad(const float* x, const float* target, float factor, float* dx, std::int64_t n) {
  const FloatVector factors = splat(factor);
  transform(
      n, dx, [&](FloatVector v, FloatVector t) HWY_ATTR { return hn::Mul(hn::Sub(sigmoid_of(v), t), factors); }, x,
      target);
}

// The number of elements of x[0, n) that are not less than `limit`, as NaN is not.
HWY_INLINE float count_not_below(const float* x, std::int64_t n, float limit) {
  return sum_over(n, [&](auto at, std::int64_t j) HWY_ATTR {
    return hn::IfThenElse(hn::Lt(at.load(x + j), splat(limit)), splat(0.0F), splat(1.0F));
  });
}
HWY_INLINE float count_not_up_to(const float* x, std::int64_t n, float limit) {
  return sum_over(n, [&](auto at, std::int64_t j) HWY_ATTR {
    return hn::IfThenElse(hn::Le(at.load(x + j), splat(limit)), splat(0.0F), splat(1.0F));
  });
}

// Rows whose label is where the largest logit first stands; a row with a NaN is never right.
std::int64_t CountCorrectRows(const float* logits, const std::int32_t* labels, std::int64_t rows,
                              std::int64_t classes) {
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* x = logits + row * classes;
    if (!is_class(labels[row], classes)) continue;
    const std::int64_t label = labels[row];
    const float limit = x[label];
    const float wrong = count_not_below(x, label, limit) + count_not_up_to(x + label, classes - label, limit);
    if (wrong == 0) ++count;
  }
  return count;
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(CrossEntropyRows);
HWY_EXPORT(CrossEntropyGradRows);
HWY_EXPORT(SquaredError);
HWY_EXPORT(SquaredErrorGrad);
HWY_EXPORT(BinaryCrossEntropy);
HWY_EXPORT(BinaryCrossEntropyGrad);
HWY_EXPORT(CountCorrectRows);

namespace {

// A kernel whose tiles give numbers that are added in tile order: tile_sum(tile, args) -> double in stage 0, output 0
// is finish(sum) in stage 1.
template <class TileSum, class Finish>
std::unique_ptr<CpuKernel> sum_kernel(std::int64_t tiles, TileSum tile_sum, Finish finish) {
  return tile_kernel({tiles, 1}, Bytes(8 * tiles), [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
    double* partial = scratch<double>(args);
    if (stage == 0) {
      partial[tile] = tile_sum(tile, args);
    } else {
      double total = 0;
      for (std::int64_t index = 0; index < tiles; ++index) total += partial[index];
      *output(args, 0) = static_cast<float>(finish(total));
    }
  });
}

float gradient_of_mean(const KernelArgs& args, std::size_t index, double factor, std::int64_t count) {
  return static_cast<float>(factor * static_cast<double>(*input(args, index)) / static_cast<double>(count));
}

using SumOfTerms = double (*)(const float* x, const float* target, std::int64_t n);
using GradOfTerms = void (*)(const float* x, const float* target, float factor, float* dx, std::int64_t n);

// The mean of a function of prediction and target; its gradient is `factor` / elements times another.
template <class Choose>
std::unique_ptr<CpuKernel> mean_kernel(const KernelRequest& request, Choose function) {
  const std::int64_t elements = request.inputs[0].shape.elements();
  const Grid grid = flat_grid(elements, 2);
  return sum_kernel(
      grid.tiles(),
      [=](std::int64_t tile, const KernelArgs& args) {
        const std::int64_t begin = grid.begin(tile);
        return function()(input(args, 0) + begin, input(args, 1) + begin, grid.length(tile));
      },
      [=](double total) { return total / static_cast<double>(elements); });
}

template <class Choose>
std::unique_ptr<CpuKernel> mean_grad_kernel(const KernelRequest& request, double factor, Choose function) {
  const std::int64_t elements = request.inputs[0].shape.elements();
  const Grid grid = flat_grid(elements, 3);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = grid.begin(tile);
    function()(input(args, 0) + begin, input(args, 1) + begin, gradient_of_mean(args, 2, factor, elements),
               output(args, 0) + begin, grid.length(tile));
  });
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_cross_entropy(const KernelRequest& request) {
  const bool with_grad = graph::CrossEntropyAttributes::from(request.attributes).with_grad;
  const std::int64_t rows = request.inputs[1].shape.elements(), classes = request.inputs[0].shape[-1];
  const Grid grid = grid_of(rows, (with_grad ? 8 : 4) * classes);
  return sum_kernel(
      grid.tiles(),
      [=](std::int64_t tile, const KernelArgs& args) {
        const std::int64_t first = grid.begin(tile), offset = first * classes;
        return HWY_DYNAMIC_DISPATCH(CrossEntropyRows)(
            input(args, 0) + offset, input<std::int32_t>(args, 1) + first, grid.length(tile), classes,
            with_grad ? gradient_of_mean(args, 2, 1, rows) : 0.0F, with_grad ? nullptr : output(args, 1) + first,
            with_grad ? output(args, 1) + offset : nullptr);
      },
      [=](double total) { return total / static_cast<double>(rows); });
}

std::unique_ptr<CpuKernel> prepare_cross_entropy_grad(const KernelRequest& request) {
  const std::int64_t rows = request.inputs[1].shape.elements(), classes = request.inputs[0].shape[-1];
  const Grid grid = grid_of(rows, 8 * classes);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t first = grid.begin(tile), offset = first * classes;
    HWY_DYNAMIC_DISPATCH(CrossEntropyGradRows)
    (input(args, 0) + offset, input<std::int32_t>(args, 1) + first, input(args, 2) + first,
     gradient_of_mean(args, 3, 1, rows), grid.length(tile), classes, output(args, 0) + offset);
  });
}

std::unique_ptr<CpuKernel> prepare_mse(const KernelRequest& request) {
  return mean_kernel(request, []() -> SumOfTerms { return HWY_DYNAMIC_DISPATCH(SquaredError); });
}

std::unique_ptr<CpuKernel> prepare_mse_grad(const KernelRequest& request) {
  return mean_grad_kernel(request, 2, []() -> GradOfTerms { return HWY_DYNAMIC_DISPATCH(SquaredErrorGrad); });
}

std::unique_ptr<CpuKernel> prepare_bce_with_logits(const KernelRequest& request) {
  return mean_kernel(request, []() -> SumOfTerms { return HWY_DYNAMIC_DISPATCH(BinaryCrossEntropy); });
}

std::unique_ptr<CpuKernel> prepare_bce_with_logits_grad(const KernelRequest& request) {
  return mean_grad_kernel(request, 1, []() -> GradOfTerms { return HWY_DYNAMIC_DISPATCH(BinaryCrossEntropyGrad); });
}

std::unique_ptr<CpuKernel> prepare_count_correct(const KernelRequest& request) {
  const std::int64_t rows = request.inputs[1].shape.elements(), classes = request.inputs[0].shape[-1];
  const Grid grid = grid_of(rows, 4 * classes);
  return sum_kernel(
      grid.tiles(),
      [=](std::int64_t tile, const KernelArgs& args) {
        const std::int64_t first = grid.begin(tile);
        return static_cast<double>(HWY_DYNAMIC_DISPATCH(CountCorrectRows)(
            input(args, 0) + first * classes, input<std::int32_t>(args, 1) + first, grid.length(tile), classes));
      },
      [](double total) { return total; });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
