// Activations, their gradients, and the bias gradient that comes with them.
#include "backend/cpu/activation_rows.h"
#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/activation.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {

template <class Function>
void bias_rows(const float* bias, float* y, std::int64_t y_stride, float* pre, std::int64_t pre_stride,
               std::int64_t rows, std::int64_t columns) {
  const FloatTag d;
  const std::int64_t whole = columns - columns % kLanes, rest = columns - whole;
  for (std::int64_t row = 0; row < rows; ++row, y += y_stride) {
    for (std::int64_t j = 0; j < whole; j += kLanes) {
      FloatVector v = hn::LoadU(d, y + j);
      if (bias != nullptr) v = hn::Add(v, hn::LoadU(d, bias + j));
      if (pre != nullptr) hn::StoreU(v, d, pre + j);
      hn::StoreU(Function::value(v), d, y + j);
    }
    if (rest != 0) {
      FloatVector v = load_first(y + whole, rest);
      if (bias != nullptr) v = hn::Add(v, load_first(bias + whole, rest));
      if (pre != nullptr) store_first(v, pre + whole, rest);
      store_first(Function::value(v), y + whole, rest);
    }
    if (pre != nullptr) pre += pre_stride;
  }
}

void BiasActivationRows(graph::Activation kind, const float* bias, float* y, std::int64_t y_stride, float* pre,
                        std::int64_t pre_stride, std::int64_t rows, std::int64_t columns) {
  switch (kind) {
    case graph::Activation::kNone:
      return bias_rows<Identity>(bias, y, y_stride, pre, pre_stride, rows, columns);
    case graph::Activation::kRelu:
      return bias_rows<Relu>(bias, y, y_stride, pre, pre_stride, rows, columns);
    case graph::Activation::kGeluErf:
      return bias_rows<GeluErf>(bias, y, y_stride, pre, pre_stride, rows, columns);
    case graph::Activation::kGeluTanh:
      return bias_rows<GeluTanh>(bias, y, y_stride, pre, pre_stride, rows, columns);
  }
}

}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(BiasActivationRows);

void bias_activation_rows(graph::Activation kind, const float* bias, float* y, std::int64_t y_stride, float* pre,
                          std::int64_t pre_stride, std::int64_t rows, std::int64_t columns) {
  HWY_DYNAMIC_DISPATCH(BiasActivationRows)(kind, bias, y, y_stride, pre, pre_stride, rows, columns);
}

}  // namespace headway::backend
#endif  // HWY_ONCE
