#include "backend/cpu/gemm.h"

#include <algorithm>
#include <type_traits>

#include "backend/cpu/cpu_kernel.h"
#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

using gemm::Matrix;
using gemm::PanelProduct;

// A strip times a panel fills the registers with sums: 8 x 3 vectors of 32 registers, 4 x 3 of 16; the other registers
// hold a row of the panel and one element of the strip.
constexpr std::int64_t kStrip = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM ? 8 : 4;
constexpr std::int64_t kVectors = 3;
constexpr std::int64_t kPanel = kVectors * kLanes;
static_assert(kPanel * (gemm::kDepth + gemm::kDepth / 8) <= gemm::kPanelFloats);

// c [kRows, columns] = or += a [kRows, k] times k rows of a panel that is kWide vectors wide.
template <int kRows, int kWide, bool kPackedA>
HWY_NOINLINE void strip_times_panel(std::int64_t k, const float* HWY_RESTRICT a, std::int64_t a_stride,
                                    const float* HWY_RESTRICT b, std::int64_t b_stride, std::int64_t columns,
                                    float* HWY_RESTRICT c, std::int64_t c_stride, bool add) {
  // NOLINTBEGIN(modernize-avoid-c-arrays): vectors in registers
  FloatVector sums[kRows][kWide], of_b[kWide];
  // NOLINTEND(modernize-avoid-c-arrays)
  HWY_UNROLL(8)
  for (int row = 0; row < kRows; ++row) {
    HWY_UNROLL(3)
    for (int v = 0; v < kWide; ++v) sums[row][v] = splat(0.0F);
  }
  const std::int64_t row_step = kPackedA ? 1 : a_stride, depth_step = kPackedA ? kStrip : 1;
  for (std::int64_t i = 0; i < k; ++i) {
    HWY_UNROLL(3)
    for (int v = 0; v < kWide; ++v) of_b[v] = Whole{}.load(b + v * kLanes);
    HWY_UNROLL(8)
    for (int row = 0; row < kRows; ++row) {
      const FloatVector of_a = splat(a[row * row_step]);
      HWY_UNROLL(3)
      for (int v = 0; v < kWide; ++v) sums[row][v] = hn::MulAdd(of_a, of_b[v], sums[row][v]);
    }
    a += depth_step;
    b += b_stride;
  }
  const std::int64_t last = columns - (kWide - 1) * kLanes;  // columns of the last vector
  const auto store = [add](auto at, FloatVector sum, float* to)
                         HWY_ATTR { at.store(add ? hn::Add(at.load(to), sum) : sum, to); };
  HWY_UNROLL(8)
  for (int row = 0; row < kRows; ++row) {
    float* to = c + row * c_stride;
    HWY_UNROLL(2)
    for (int v = 0; v + 1 < kWide; ++v) store(Whole{}, sums[row][v], to + v * kLanes);
    if (last == kLanes) {
      store(Whole{}, sums[row][kWide - 1], to + (kWide - 1) * kLanes);
    } else {
      store(First{last}, sums[row][kWide - 1], to + (kWide - 1) * kLanes);
    }
  }
}

HWY_INLINE void fetch(const gemm::Block& block, std::int64_t first, std::int64_t rows) {
  constexpr std::int64_t kLine = 16;
  for (std::int64_t row = first; row < std::min(first + rows, block.rows); ++row) {
    const float* data = block.data + row * block.stride;
    for (std::int64_t j = 0; j < block.columns; j += kLine) __builtin_prefetch(data + j, 0, 2);
    __builtin_prefetch(data + block.columns - 1, 0, 2);
  }
}

// All strips of a, over `depth` of the inner axis from `first` on.
template <int kWide, bool kPackedA>
void strips_times_panel(const PanelProduct& p, std::int64_t first, std::int64_t depth) {
  const std::int64_t b_stride = p.panel_stride == 0 ? kWide * kLanes : p.panel_stride;
  const float* b = p.panel + first * b_stride;
  std::int64_t row = 0;
  const std::int64_t fetched = divide_up(p.ahead.rows * kStrip, std::max<std::int64_t>(p.m, 1));  // with every strip
  const auto run = [&](auto rows) HWY_ATTR {
    constexpr int kRows = decltype(rows)::value;
    for (; row + kRows <= p.m; row += kRows) {
      fetch(p.ahead, row / kStrip * fetched, fetched);
      const float* a =
          kPackedA ? p.a + row / kStrip * kStrip * p.k + row % kStrip + first * kStrip : p.a + row * p.a_stride + first;
      strip_times_panel<kRows, kWide, kPackedA>(depth, a, p.a_stride, b, b_stride, p.columns, p.c + row * p.c_stride,
                                                p.c_stride, p.add || first > 0);
    }
  };
  if constexpr (kStrip == 8) run(std::integral_constant<int, 8>());
  run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 2>());
  run(std::integral_constant<int, 1>());
}

template <int kWide>
void wide_panel(const PanelProduct& p, std::int64_t first, std::int64_t depth) {
  if (p.a_stride == 0) {
    strips_times_panel<kWide, true>(p, first, depth);
  } else {
    strips_times_panel<kWide, false>(p, first, depth);
  }
}

void Multiply(const PanelProduct& p) {
  const std::int64_t step = gemm::depth_of(p.k);
  std::int64_t first = 0;
  do {
    const std::int64_t depth = std::min(step, p.k - first);
    if (p.columns > 2 * kLanes) {
      wide_panel<3>(p, first, depth);
    } else if (p.columns > kLanes) {
      wide_panel<2>(p, first, depth);
    } else {
      wide_panel<1>(p, first, depth);
    }
    first += depth;
  } while (first < p.k);
}

void Dots(const PanelProduct& p) {
  for (std::int64_t row = 0; row < p.m; ++row) {
    const float* a = p.a + row * p.a_stride;
    for (std::int64_t column = 0; column < p.columns; ++column) {
      const float* b = p.panel + column * p.panel_stride;
      p.c[row * p.c_stride + column] =
          sum_over(p.k, [&](auto at, std::int64_t i) HWY_ATTR { return hn::Mul(at.load(a + i), at.load(b + i)); });
    }
  }
}

void RowSums(const PanelProduct& p) {
  for (std::int64_t row = 0; row < p.m; ++row) {
    const float* a = p.a + row * p.a_stride;
    float* c = p.c + row * p.c_stride;
    for_each_vector(p.columns, [&](auto at, std::int64_t j) HWY_ATTR {
      FloatVector sum = splat(0.0F);
      for (std::int64_t i = 0; i < p.k; ++i) {
        sum = hn::MulAdd(splat(a[i]), at.load(p.panel + i * p.panel_stride + j), sum);
      }
      at.store(sum, c + j);
    });
  }
}

// `rows` rows of b [.., n], contiguous, into panels kWidth columns wide and k rows long (or strips: a transposed).
// Whole rows are read, four at a time, so that reads and writes are both in lines. A narrower last panel is padded to
// `unit`.
template <std::int64_t kWidth>
void pack_rows(const Matrix& b, std::int64_t n, std::int64_t rows, std::int64_t k, std::int64_t unit, float* to) {
  constexpr std::int64_t kAtOnce = 4;
  for (std::int64_t i = 0; i < rows; i += kAtOnce) {
    const std::int64_t some = std::min(kAtOnce, rows - i);
    for (std::int64_t j = 0; j < n; j += kWidth) {
      const std::int64_t width = std::min(kWidth, n - j), step = (width + unit - 1) / unit * unit;
      float* panel = to + j * k + i * step;
      const float* from = b.data + i * b.row_stride + j;
      if (width == kWidth) {
        using Tag = hn::CappedTag<float, kWidth>;
        constexpr std::int64_t kLane = static_cast<std::int64_t>(hn::MaxLanes(Tag()));
        static_assert(kWidth % kLane == 0);
        for (std::int64_t r = 0; r < some; ++r) {
          HWY_UNROLL(3)
          for (std::int64_t v = 0; v < kWidth; v += kLane) {
            hn::StoreU(hn::LoadU(Tag(), from + r * b.row_stride + v), Tag(), panel + r * kWidth + v);
          }
        }
      } else if constexpr (kWidth % kLanes == 0) {
        for (std::int64_t r = 0; r < some; ++r) {
          for_each_vector(width, [&](auto at, std::int64_t c) HWY_ATTR {
            Whole{}.store(at.load(from + r * b.row_stride + c), panel + r * step + c);
          });
        }
      } else {
        for (std::int64_t r = 0; r < some; ++r) {
          for (std::int64_t c = 0; c < step; ++c) panel[r * step + c] = c < width ? from[r * b.row_stride + c] : 0.0F;
        }
      }
    }
  }
}

// One vector of columns of b [rows, ..] whose columns are contiguous, into every step-th place of `to`.
void pack_transposed(const Matrix& b, std::int64_t columns, std::int64_t rows, float* to, std::int64_t step) {
  std::int64_t i = 0;
  if (columns >= kLanes) {
    for (; i + 4 <= rows; i += 4) {
      load_transposed(b.data + i * b.row_stride, b.column_stride,
                      [&](std::int64_t row, FloatVector v) HWY_ATTR { Whole{}.store(v, to + (i + row) * step); });
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < kLanes; ++j) {
      to[i * step + j] = j < columns ? b.data[i * b.row_stride + j * b.column_stride] : 0.0F;
    }
  }
}

void PackB(const Matrix& b, std::int64_t k, std::int64_t n, std::int64_t first, std::int64_t rows, float* packed) {
  if (b.column_stride == 1) {
    // Panels narrower than kPanel have a row of their own width: `first` counts in it.
    const std::int64_t whole = n / kPanel * kPanel, left = n - whole, step = (left + kLanes - 1) / kLanes * kLanes;
    if (whole > 0) pack_rows<kPanel>(b.at(first, 0), whole, rows, k, kLanes, packed + first * kPanel);
    if (left > 0) pack_rows<kPanel>(b.at(first, whole), left, rows, k, kLanes, packed + whole * k + first * step);
    return;
  }
  for (std::int64_t j = 0; j < n; j += kPanel) {
    const std::int64_t columns = std::min(kPanel, n - j), wide = (columns + kLanes - 1) / kLanes, step = wide * kLanes;
    for (std::int64_t v = 0; v < wide; ++v) {
      pack_transposed(b.at(first, j + v * kLanes), std::min(kLanes, columns - v * kLanes), rows,
                      packed + j * k + first * step + v * kLanes, step);
    }
  }
}

void PackA(const Matrix& a, std::int64_t m, std::int64_t k, float* packed) {
  if (a.row_stride == 1) return pack_rows<kStrip>({a.data, a.column_stride, 1}, m, k, k, kStrip, packed);
  for (std::int64_t row = 0; row < m; row += kStrip) {
    float* to = packed + row * k;
    const float* from = a.data + row * a.row_stride;
    const std::int64_t rows = std::min(kStrip, m - row);
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t r = 0; r < kStrip; ++r) {
        to[i * kStrip + r] = r < rows ? from[r * a.row_stride + i * a.column_stride] : 0.0F;
      }
    }
  }
}

std::int64_t PanelColumns() {
  return kPanel;
}
std::int64_t StripRows() {
  return kStrip;
}
std::int64_t Lanes() {
  return kLanes;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend::gemm {
namespace {
HWY_EXPORT(Multiply);
HWY_EXPORT(Dots);
HWY_EXPORT(RowSums);
HWY_EXPORT(PackB);
HWY_EXPORT(PackA);
HWY_EXPORT(PanelColumns);
HWY_EXPORT(StripRows);
HWY_EXPORT(Lanes);
}  // namespace

std::int64_t panel_columns() {
  return HWY_DYNAMIC_DISPATCH(PanelColumns)();
}
std::int64_t strip_rows() {
  return HWY_DYNAMIC_DISPATCH(StripRows)();
}
bool whole_vectors(std::int64_t columns) {
  return columns % HWY_DYNAMIC_DISPATCH(Lanes)() == 0;
}
std::int64_t packed_b_floats(std::int64_t k, std::int64_t n) {
  const std::int64_t lanes = HWY_DYNAMIC_DISPATCH(Lanes)();
  return k * (divide_up(n, lanes) * lanes);
}
void pack_b(const Matrix& b, std::int64_t k, std::int64_t n, std::int64_t first, std::int64_t rows, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackB)(b, k, n, first, rows, packed);
}
std::int64_t packed_a_floats(std::int64_t m, std::int64_t k) {
  return divide_up(m, strip_rows()) * strip_rows() * k;
}
void pack_a(const Matrix& a, std::int64_t m, std::int64_t k, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackA)(a, m, k, packed);
}
void multiply(const PanelProduct& product) {
  HWY_DYNAMIC_DISPATCH(Multiply)(product);
}
void dots(const PanelProduct& product) {
  HWY_DYNAMIC_DISPATCH(Dots)(product);
}
void row_sums(const PanelProduct& product) {
  HWY_DYNAMIC_DISPATCH(RowSums)(product);
}

}  // namespace headway::backend::gemm
#endif  // HWY_ONCE
