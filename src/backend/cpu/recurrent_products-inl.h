// The product in registers that recurrent layers are made of; included once for each instruction set.
//
// Six rows of four vectors are 24 sums; with four vectors of b and the element of a that is multiplied they fill 32
// registers. With 16 registers three rows do, where b is used from memory.
#if defined(HEADWAY_RECURRENT_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWAY_RECURRENT_PRODUCTS_INL_H
#undef HEADWAY_RECURRENT_PRODUCTS_INL_H
#else
#define HEADWAY_RECURRENT_PRODUCTS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "backend/cpu/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {

inline constexpr int kStripRows = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM ? 6 : 3;
inline constexpr int kPanelVectors = 4;
inline constexpr std::int64_t kPanelColumns = kPanelVectors * kLanes;

// A strip of a: element (row, i) is data[row * row_step + i * depth_step].
struct Strip {
  const float* data;
  std::int64_t row_step, depth_step;
};

// sums += a strip, k deep, times k rows of b.
template <int kRows, int kWide>
HWY_INLINE void add_products(FloatVector (&sums)[kRows][kWide], std::int64_t k, Strip a, const float* HWY_RESTRICT b,
                             std::int64_t b_stride) {
  const float* HWY_RESTRICT of_strip = a.data;
  for (std::int64_t i = 0; i < k; ++i) {
    FloatVector of_b[kWide];  // NOLINT(modernize-avoid-c-arrays): vectors in registers
    HWY_UNROLL(4)
    for (int v = 0; v < kWide; ++v) of_b[v] = Whole{}.load(b + v * kLanes);
    HWY_UNROLL(6)
    for (int row = 0; row < kRows; ++row) {
      const FloatVector of_a = splat(of_strip[row * a.row_step]);
      HWY_UNROLL(4)
      for (int v = 0; v < kWide; ++v) sums[row][v] = hn::MulAdd(of_a, of_b[v], sums[row][v]);
    }
    of_strip += a.depth_step;
    b += b_stride;
  }
}

template <int kRows, int kWide>
HWY_INLINE void set_zero(FloatVector (&sums)[kRows][kWide]) {
  HWY_UNROLL(6)
  for (int row = 0; row < kRows; ++row) {
    HWY_UNROLL(4)
    for (int v = 0; v < kWide; ++v) sums[row][v] = splat(0.0F);
  }
}

// c = sums, or c += sums; `columns` of the kWide vectors are stored.
template <int kRows, int kWide>
HWY_INLINE void store_sums(const FloatVector (&sums)[kRows][kWide], float* c, std::int64_t c_stride,
                           std::int64_t columns, bool add) {
  const auto store = [add](auto at, FloatVector sum, float* to)
                         HWY_ATTR { at.store(add ? hn::Add(at.load(to), sum) : sum, to); };
  HWY_UNROLL(6)
  for (int row = 0; row < kRows; ++row) {
    HWY_UNROLL(4)
    for (int v = 0; v < kWide; ++v) {
      float* to = c + row * c_stride + v * kLanes;
      if (columns >= (v + 1) * kLanes) {
        store(Whole{}, sums[row][v], to);
      } else if (columns > v * kLanes) {
        store(First{columns - v * kLanes}, sums[row][v], to);
      }
    }
  }
}

// body(std::integral_constant<int, rows>, first) for strips that cover `rows` rows.
template <class Body>
HWY_INLINE void for_each_strip(std::int64_t rows, const Body& body) {
  std::int64_t row = 0;
  for (; row + kStripRows <= rows; row += kStripRows) body(std::integral_constant<int, kStripRows>(), row);
  for (; row + 2 <= rows; row += 2) body(std::integral_constant<int, 2>(), row);
  for (; row < rows; ++row) body(std::integral_constant<int, 1>(), row);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
