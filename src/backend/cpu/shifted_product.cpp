#include "backend/cpu/shifted_product.h"

#include <type_traits>

#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/shifted_product.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

using shifted::Product;
using shifted::Run;

// A strip of rows times a panel fills the registers with sums: 6 x 4 or 8 x 3 vectors of 32 registers, 4 x 3 of 16.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM;
constexpr std::int64_t kVectors = kManyRegisters ? 4 : 3;

// `Last` is the access to the last vector of b and c: all lanes, or the first few.
template <int kRows, int kWide, class Last>
HWY_NOINLINE void strip_times_panel(const Product& p, std::int64_t first, Last last) {
  // NOLINTBEGIN(modernize-avoid-c-arrays): vectors and pointers in registers
  const float* a[kRows];
  FloatVector sums[kRows][kWide], of_b[kWide];
  // NOLINTEND(modernize-avoid-c-arrays)
  HWY_UNROLL(8)
  for (int row = 0; row < kRows; ++row) {
    a[row] = p.a + p.a_rows[first + row];
    HWY_UNROLL(4)
    for (int v = 0; v < kWide; ++v) sums[row][v] = splat(0.0F);
  }
  const float* HWY_RESTRICT b = p.b;
  const std::int64_t step = p.a_step, b_stride = p.b_stride;
  for (const Run* run = p.runs; run != p.runs + p.run_count; ++run) {
    const std::int64_t end = run->at + run->count * step;
    for (std::int64_t i = run->at; i != end; i += step) {
      HWY_UNROLL(3)
      for (int v = 0; v + 1 < kWide; ++v) of_b[v] = Whole{}.load(b + v * kLanes);
      of_b[kWide - 1] = last.load(b + (kWide - 1) * kLanes);
      HWY_UNROLL(8)
      for (int row = 0; row < kRows; ++row) {
        const FloatVector of_a = splat(a[row][i]);
        HWY_UNROLL(4)
        for (int v = 0; v < kWide; ++v) sums[row][v] = hn::MulAdd(of_a, of_b[v], sums[row][v]);
      }
      b += b_stride;
    }
  }
  const bool add = p.add;
  const auto store = [add](auto at, FloatVector sum, float* to)
                         HWY_ATTR { at.store(add ? hn::Add(at.load(to), sum) : sum, to); };
  HWY_UNROLL(8)
  for (int row = 0; row < kRows; ++row) {
    float* to = p.c + p.c_rows[first + row];
    HWY_UNROLL(3)
    for (int v = 0; v + 1 < kWide; ++v) store(Whole{}, sums[row][v], to + v * kLanes);
    store(last, sums[row][kWide - 1], to + (kWide - 1) * kLanes);
  }
}

template <int kWide, class Last>
void all_strips(const Product& p, Last last) {
  std::int64_t row = 0;
  const auto run = [&](auto rows) HWY_ATTR {
    constexpr int kRows = decltype(rows)::value;
    for (; row + kRows <= p.rows; row += kRows) strip_times_panel<kRows, kWide>(p, row, last);
  };
  if constexpr (kManyRegisters) run(std::integral_constant < int, kWide == 4 ? 6 : 8 > ());
  run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 2>());
  run(std::integral_constant<int, 1>());
}

template <int kWide>
void wide_panel(const Product& p) {
  const std::int64_t last = p.columns - (kWide - 1) * kLanes;
  if (last == kLanes) {
    all_strips<kWide>(p, Whole{});
  } else {
    all_strips<kWide>(p, First{last});
  }
}

void Multiply(const Product& p) {
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM
  if (p.columns > 3 * kLanes) return wide_panel<4>(p);
#endif
  if (p.columns > 2 * kLanes) {
    wide_panel<3>(p);
  } else if (p.columns > kLanes) {
    wide_panel<2>(p);
  } else {
    wide_panel<1>(p);
  }
}

void SumRows(const float* x, std::int64_t rows, std::int64_t columns, bool add, float* sums) {
  for_each_vector(columns, [&](auto at, std::int64_t j) HWY_ATTR {
    // Two sums, of even and of odd rows, so that additions do not wait for each other.
    FloatVector even = add ? at.load(sums + j) : splat(0.0F), odd = splat(0.0F);
    std::int64_t row = 0;
    for (; row + 2 <= rows; row += 2) {
      even = hn::Add(even, at.load(x + row * columns + j));
      odd = hn::Add(odd, at.load(x + (row + 1) * columns + j));
    }
    if (row < rows) even = hn::Add(even, at.load(x + row * columns + j));
    at.store(hn::Add(even, odd), sums + j);
  });
}

std::int64_t Lanes() {
  return kLanes;
}
std::int64_t PanelColumns() {
  return kVectors * kLanes;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend::shifted {
namespace {
HWY_EXPORT(Multiply);
HWY_EXPORT(SumRows);
HWY_EXPORT(Lanes);
HWY_EXPORT(PanelColumns);
}  // namespace

void multiply(const Product& product) {
  HWY_DYNAMIC_DISPATCH(Multiply)(product);
}
void sum_rows(const float* x, std::int64_t rows, std::int64_t columns, bool add, float* sums) {
  HWY_DYNAMIC_DISPATCH(SumRows)(x, rows, columns, add, sums);
}
std::int64_t lanes() {
  return HWY_DYNAMIC_DISPATCH(Lanes)();
}
std::int64_t panel_columns() {
  return HWY_DYNAMIC_DISPATCH(PanelColumns)();
}

}  // namespace headway::backend::shifted
#endif  // HWY_ONCE
