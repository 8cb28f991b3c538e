// Products of small blocks for attention: packing, and a register tile of fused multiply-adds.
//
// A product C = A B has A [rows, depth], B [depth, columns], C [rows, columns]. Columns are whole vectors, so B and C
// are packed; A is read one number at a time and broadcast, so it may lie in memory by rows or by columns. A tile of
// 6 rows x 4 vectors keeps its 24 sums in registers over the whole depth: per step 4 loads of B, 6 broadcasts of A
// and 24 multiply-adds, so that the two multiply-add units never wait for the two load units.
//
// A causal mask makes blocks on the diagonal triangular. Key k and query q, both counted from the start of their
// block, see each other when k <= q + shift. A tile leaves out the columns or the range of depth that none of its rows
// sees; a block without a mask has a large shift.
#if defined(HEADWAY_BACKEND_CPU_ATTENTION_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWAY_BACKEND_CPU_ATTENTION_BLOCK_INL_H_
#undef HEADWAY_BACKEND_CPU_ATTENTION_BLOCK_INL_H_
#else
#define HEADWAY_BACKEND_CPU_ATTENTION_BLOCK_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "backend/cpu/attention_problem.h"
#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {
inline constexpr std::int64_t kTileRows = 6;
inline constexpr std::int64_t kTileVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // 32 vector registers, or 16

enum class ByRow : bool { kNo, kYes };

inline constexpr std::int64_t kDepthStep = 8;  // between two steps of the prefetcher

// What a tile leaves out when its rows are keys or queries.
enum class Skip {
  kEarlyColumns,  // rows are keys, columns queries
  kEarlyDepth,    // rows are keys, depth is over queries
  kLateDepth,     // rows are queries, depth is over keys
};

// C (+)= A B; strides in floats, of rows, or of columns where A lies by columns.
struct Product {
  const float* a;
  std::int64_t a_stride;
  const float* b;
  std::int64_t b_stride;
  float* c;
  std::int64_t c_stride;
  std::int64_t rows, vectors, depth;
  bool add;
};

// Brings rows that are wanted later into the level-2 cache, line by line while the multiply-add units are busy: rows of
// a head lie a page apart, where the hardware does not foresee them, and a core waits for few lines at a time.
class Prefetcher {
 public:
  void add(const float* rows, std::int64_t stride, std::int64_t count, std::int64_t size) {
    constexpr std::int64_t kLine = 64 / sizeof(float);
    if (count > 0) regions_[regions_count_++] = {rows, stride, count, divide_up(size, kLine)};
    lines_ += count * divide_up(size, kLine);
  }
  // Spreads all lines over a number of steps.
  void spread(std::int64_t steps) { lines_per_step_ = divide_up(lines_, std::max<std::int64_t>(steps, 1)); }

  HWY_INLINE void step() {
    for (std::int64_t i = 0; i < lines_per_step_ && current_ < regions_count_; ++i) {
      Region& region = regions_[current_];
      __builtin_prefetch(region.row + line_ * 16, 0, 2);
      if (++line_ < region.lines) continue;
      line_ = 0;
      region.row += region.stride;
      if (--region.count == 0) ++current_;
    }
  }

 private:
  struct Region {
    const float* row;
    std::int64_t stride, count, lines;
  };
  Region regions_[8];
  std::int64_t regions_count_ = 0, current_ = 0, line_ = 0, lines_ = 0, lines_per_step_ = 0;
};

template <std::int64_t kRows, std::int64_t kVectors, ByRow kByRow>
HWY_NOINLINE void multiply_tile(const float* HWY_RESTRICT a, std::int64_t a_stride, const float* HWY_RESTRICT b,
                                std::int64_t b_stride, float* HWY_RESTRICT c, std::int64_t c_stride, std::int64_t depth,
                                bool add, Prefetcher& prefetcher) {
  const FloatTag tag;
  FloatVector sum[kRows][kVectors];
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(tag);
  }
  for (std::int64_t left = depth; left > 0; left -= kDepthStep) {
    prefetcher.step();
    for (std::int64_t k = std::min(left, kDepthStep); k > 0; --k) {
      FloatVector right[kVectors];
      for (std::int64_t v = 0; v < kVectors; ++v) right[v] = hn::Load(tag, b + v * kLanes);
      for (std::int64_t r = 0; r < kRows; ++r) {
        const FloatVector left_value = splat(kByRow == ByRow::kYes ? a[r * a_stride] : a[r]);
        for (std::int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(left_value, right[v], sum[r][v]);
      }
      a += kByRow == ByRow::kYes ? 1 : a_stride;
      b += b_stride;
    }
  }
  for (std::int64_t r = 0; r < kRows; ++r, c += c_stride) {
    for (std::int64_t v = 0; v < kVectors; ++v) {
      if (add) sum[r][v] = hn::Add(sum[r][v], hn::Load(tag, c + v * kLanes));
      hn::Store(sum[r][v], tag, c + v * kLanes);
    }
  }
}

using TileFunction = decltype(&multiply_tile<1, 1, ByRow::kYes>);

// The tile of `rows` rows and `vectors` vectors.
template <ByRow kByRow, std::int64_t kRows = kTileRows, std::int64_t kVectors = kTileVectors>
TileFunction tile_function(std::int64_t rows, std::int64_t vectors) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return tile_function<kByRow, kRows - 1, kVectors>(rows, vectors);
  }
  if constexpr (kVectors > 1) {
    if (vectors < kVectors) return tile_function<kByRow, kRows, kVectors - 1>(rows, vectors);
  }
  return multiply_tile<kRows, kVectors, kByRow>;
}

template <ByRow kByRow, Skip kSkip>
void multiply(const Product& product, std::int64_t shift, Prefetcher& prefetcher) {
  // Columns in panels of equal width, so that none is too narrow to keep the multiply-add units busy.
  const std::int64_t panels = (product.vectors + kTileVectors - 1) / kTileVectors;
  const std::int64_t width = (product.vectors + panels - 1) / panels;
  for (std::int64_t left = 0; left < product.vectors; left += width) {
    for (std::int64_t row = 0; row < product.rows; row += kTileRows) {
      const std::int64_t rows = std::min(kTileRows, product.rows - row);
      std::int64_t first_vector = left, first = 0, last = product.depth;
      const std::int64_t end_vector = std::min(left + width, product.vectors);
      if constexpr (kSkip == Skip::kLateDepth) {
        const std::int64_t seen = row + rows + shift;
        last = std::min(last, std::max<std::int64_t>(seen, 0));
      } else {
        const std::int64_t unseen = std::max<std::int64_t>(row - shift, 0);
        if constexpr (kSkip == Skip::kEarlyDepth) first = std::min(last, unseen);
        if constexpr (kSkip == Skip::kEarlyColumns) first_vector = std::max(left, unseen / kLanes);
        if (first_vector >= end_vector) continue;
      }
      const float* a =
          product.a + (kByRow == ByRow::kYes ? row * product.a_stride + first : first * product.a_stride + row);
      tile_function<kByRow>(rows, end_vector - first_vector)(
          a, product.a_stride, product.b + first * product.b_stride + first_vector * kLanes, product.b_stride,
          product.c + row * product.c_stride + first_vector * kLanes, product.c_stride, last - first, product.add,
          prefetcher);
    }
  }
}

// Copies rows of `size` floats to rows of `padded` floats, zeros behind.
inline void pack_rows(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t size, std::int64_t padded,
                      float* HWY_RESTRICT to) {
  const FloatTag tag;
  for (std::int64_t r = 0; r < rows; ++r, from += stride, to += padded) {
    std::int64_t d = 0;
    for (; d + kLanes <= size; d += kLanes) hn::Store(hn::LoadU(tag, from + d), tag, to + d);
    for (; d < size; ++d) to[d] = from[d];
    for (; d < padded; ++d) to[d] = 0.0F;
  }
}

// Writes packed rows times a factor to rows of `size` floats; past the caches where whole vectors allow it, since who
// reads them does so after many others (FlushStream before others may read).
inline void unpack_rows(const float* HWY_RESTRICT from, std::int64_t padded, std::int64_t rows, std::int64_t size,
                        float factor, float* HWY_RESTRICT to, std::int64_t stride) {
  const FloatTag tag;
  constexpr std::int64_t kBytes = kLanes * std::int64_t{sizeof(float)};
  for (std::int64_t r = 0; r < rows; ++r, from += padded, to += stride) {
    std::int64_t d = 0;
    if (reinterpret_cast<std::uintptr_t>(to) % kBytes == 0) {
      for (; d + kLanes <= size; d += kLanes) hn::Stream(hn::Mul(hn::Load(tag, from + d), splat(factor)), tag, to + d);
    } else {
      for (; d + kLanes <= size; d += kLanes) hn::StoreU(hn::Mul(hn::Load(tag, from + d), splat(factor)), tag, to + d);
    }
    for (; d < size; ++d) to[d] = from[d] * factor;
  }
}

// Transposes rows of `size` floats, times a factor, to [size, kQueryBlock]; columns up to a whole vector are zero.
inline void pack_transposed(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t size, float factor,
                            float* HWY_RESTRICT to) {
  const FloatTag tag;
  std::int64_t r = 0;
  const FloatVector scale = splat(factor);
  for (; r + kLanes <= rows; r += kLanes, from += kLanes * stride) {
    std::int64_t d = 0;
    for (; d + 4 <= size; d += 4) {
      load_transposed(from + d, stride, [&](std::int64_t i, FloatVector column) HWY_ATTR {
        hn::Store(hn::Mul(scale, column), tag, to + (d + i) * kQueryBlock + r);
      });
    }
    for (; d < size; ++d) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        to[d * kQueryBlock + r + lane] = from[lane * stride + d] * factor;
    }
  }
  const std::int64_t columns = (rows + kLanes - 1) / kLanes * kLanes;
  if (r == columns) return;
  for (std::int64_t d = 0; d < size; ++d) {
    for (std::int64_t lane = 0; r + lane < columns; ++lane) {
      to[d * kQueryBlock + r + lane] = r + lane < rows ? from[lane * stride + d] * factor : 0.0F;
    }
  }
}

// The queries of vector `v` of a block that see key `key`.
inline hn::Mask<FloatTag> seeing(std::int64_t v, std::int64_t key, std::int64_t shift) {
  const FloatTag tag;
  const auto first = static_cast<float>(key - shift);
  return hn::Ge(hn::Iota(tag, static_cast<float>(v * kLanes)), hn::Set(tag, first));
}

// Keys that all queries of vector `v` see, and keys that at least one sees, of `keys` in the block.
struct SeenKeys {
  std::int64_t by_all, by_any;

  SeenKeys(std::int64_t v, std::int64_t keys, std::int64_t shift) {
    const auto clamped = [keys](std::int64_t end) { return std::min(keys, std::max<std::int64_t>(end, 0)); };
    const std::int64_t first_query = v * kLanes;
    by_all = clamped(first_query + shift + 1);
    by_any = clamped(first_query + kLanes + shift);
  }
};

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEADWAY_BACKEND_CPU_ATTENTION_BLOCK_INL_H_
