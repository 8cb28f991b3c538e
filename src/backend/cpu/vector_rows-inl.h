// Walks over arrays of f32 in vectors, with an exact end: nothing behind the last element is read or written.
// Included once for each instruction set (Highway's -inl.h form).
//
// All walks load what they need before they store. An x86 core compares only the low 12 bits of addresses at first: a
// load that agrees in them with a store before it waits until that store has reached the cache, which has to fetch the
// line from memory. Measured: with an output 64 bytes behind its input, modulo 4096, a vector at a time runs 10 times
// slower than with both at the same offset. Four vectors at a time, and arrays that start on pages, avoid that.
//
// A body is written once, for an access `at` that is a whole vector or the first few lanes of one:
//   for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR { at.store(hn::Sqrt(at.load(x + j)), y + j); });
#if defined(HEADWAY_VECTOR_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWAY_VECTOR_ROWS_INL_H
#undef HEADWAY_VECTOR_ROWS_INL_H
#else
#define HEADWAY_VECTOR_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
inline constexpr std::int64_t kLanes = HWY_LANES(float);

HWY_INLINE FloatVector splat(float value) {
  return hn::Set(FloatTag(), value);
}
HWY_INLINE float sum_of_lanes(FloatVector v) {
  return hn::GetLane(hn::SumOfLanes(FloatTag(), v));
}

// All lanes.
struct Whole {
  HWY_INLINE FloatVector load(const float* p) const { return hn::LoadU(FloatTag(), p); }
  HWY_INLINE FloatVector load_or(const float* p, FloatVector /*other*/) const { return load(p); }
  HWY_INLINE FloatVector keep(FloatVector v) const { return v; }
  HWY_INLINE void store(FloatVector v, float* p) const { hn::StoreU(v, FloatTag(), p); }
};

// The first `count` lanes, 0 < count < kLanes.
struct First {
  std::int64_t count;

  HWY_INLINE hn::Mask<FloatTag> mask() const { return hn::FirstN(FloatTag(), static_cast<std::size_t>(count)); }
  // The other lanes are 0.
  HWY_INLINE FloatVector load(const float* p) const {
#if HWY_CAP_GE256
    return hn::MaskedLoad(mask(), FloatTag(), p);
#else
    HWY_ALIGN float lanes[kLanes] = {};
    for (std::int64_t lane = 0; lane < count; ++lane) lanes[lane] = p[lane];
    return hn::Load(FloatTag(), lanes);
#endif
  }
  // The other lanes are those of `other`.
  HWY_INLINE FloatVector load_or(const float* p, FloatVector other) const {
    return hn::IfThenElse(mask(), load(p), other);
  }
  // Makes the other lanes 0.
  HWY_INLINE FloatVector keep(FloatVector v) const {
    return hn::IfThenElseZero(mask(), v);
  }
  HWY_INLINE void store(FloatVector v, float* p) const {
#if HWY_CAP_GE256
    hn::BlendedStore(v, mask(), FloatTag(), p);
#else
    HWY_ALIGN float lanes[kLanes];
    hn::Store(v, FloatTag(), lanes);
    for (std::int64_t lane = 0; lane < count; ++lane) p[lane] = lanes[lane];
#endif
  }
};

// Four floats of each of the rows r, r + 4, r + 8 ... as the 128-bit blocks of one vector.
template <class Tag>
HWY_INLINE hn::Vec<Tag> load_blocks(Tag tag, const float* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(Tag()) == 4) {
    return hn::LoadU(tag, from);
  } else {
    const hn::Half<Tag> half;
    constexpr std::int64_t kUpperRow = hn::MaxLanes(Tag()) / 2;
    return hn::Combine(tag, load_blocks(half, from + kUpperRow * stride, stride), load_blocks(half, from, stride));
  }
}

// put(i, column) for the four columns i of kLanes rows of four floats, `stride` apart.
template <class Put>
HWY_INLINE void load_transposed(const float* from, std::int64_t stride, const Put& put) {
  const FloatTag tag;
  const hn::Repartition<double, FloatTag> pairs;
  const FloatVector row0 = load_blocks(tag, from, stride), row1 = load_blocks(tag, from + stride, stride);
  const FloatVector row2 = load_blocks(tag, from + 2 * stride, stride),
                    row3 = load_blocks(tag, from + 3 * stride, stride);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(tag, row0, row1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(tag, row2, row3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(tag, row0, row1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(tag, row2, row3));
  put(0, hn::BitCast(tag, hn::InterleaveLower(pairs, low01, low23)));
  put(1, hn::BitCast(tag, hn::InterleaveUpper(pairs, low01, low23)));
  put(2, hn::BitCast(tag, hn::InterleaveLower(pairs, high01, high23)));
  put(3, hn::BitCast(tag, hn::InterleaveUpper(pairs, high01, high23)));
}

// body(at, j) for the vectors that start at j = 0, kLanes, ... of n elements.
template <class Body>
HWY_INLINE void for_each_vector(std::int64_t n, const Body& body) {
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) body(Whole{}, j);
  if (j < n) body(First{n - j}, j);
}

// y[j] = function(x[j], ...) for j < n; y may be one of the x.
template <class Function, class... Input>
HWY_INLINE void transform(std::int64_t n, float* y, const Function& function, const Input*... x) {
  std::int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
    const FloatVector v0 = function(Whole{}.load(x + j)...);
    const FloatVector v1 = function(Whole{}.load(x + j + kLanes)...);
    const FloatVector v2 = function(Whole{}.load(x + j + 2 * kLanes)...);
    const FloatVector v3 = function(Whole{}.load(x + j + 3 * kLanes)...);
    Whole{}.store(v0, y + j);
    Whole{}.store(v1, y + j + kLanes);
    Whole{}.store(v2, y + j + 2 * kLanes);
    Whole{}.store(v3, y + j + 3 * kLanes);
  }
  for (; j + kLanes <= n; j += kLanes) Whole{}.store(function(Whole{}.load(x + j)...), y + j);
  if (j < n) {
    const First at{n - j};
    at.store(function(at.load(x + j)...), y + j);
  }
}

// Sum over n elements of term(at, j), in an order that depends on n only: four vectors of partial sums, then lanes.
template <class Term>
HWY_INLINE float sum_over(std::int64_t n, const Term& term) {
  FloatVector sum0 = splat(0.0F), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
    sum0 = hn::Add(sum0, term(Whole{}, j));
    sum1 = hn::Add(sum1, term(Whole{}, j + kLanes));
    sum2 = hn::Add(sum2, term(Whole{}, j + 2 * kLanes));
    sum3 = hn::Add(sum3, term(Whole{}, j + 3 * kLanes));
  }
  for (; j + kLanes <= n; j += kLanes) sum0 = hn::Add(sum0, term(Whole{}, j));
  if (j < n) {
    const First at{n - j};
    sum1 = hn::Add(sum1, at.keep(term(at, j)));
  }
  return sum_of_lanes(hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}

// The same sum, with the terms kept in y.
template <class Term>
HWY_INLINE float sum_storing(std::int64_t n, float* y, const Term& term) {
  FloatVector sum0 = splat(0.0F), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
    const FloatVector v0 = term(Whole{}, j), v1 = term(Whole{}, j + kLanes);
    const FloatVector v2 = term(Whole{}, j + 2 * kLanes), v3 = term(Whole{}, j + 3 * kLanes);
    Whole{}.store(v0, y + j);
    Whole{}.store(v1, y + j + kLanes);
    Whole{}.store(v2, y + j + 2 * kLanes);
    Whole{}.store(v3, y + j + 3 * kLanes);
    sum0 = hn::Add(sum0, v0);
    sum1 = hn::Add(sum1, v1);
    sum2 = hn::Add(sum2, v2);
    sum3 = hn::Add(sum3, v3);
  }
  for (; j + kLanes <= n; j += kLanes) {
    const FloatVector v = term(Whole{}, j);
    Whole{}.store(v, y + j);
    sum0 = hn::Add(sum0, v);
  }
  if (j < n) {
    const First at{n - j};
    const FloatVector v = term(at, j);
    at.store(v, y + j);
    sum1 = hn::Add(sum1, at.keep(v));
  }
  return sum_of_lanes(hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}

// Largest of n elements, -infinity for none; NaN elements may be left out.
HWY_INLINE float max_over(const float* x, std::int64_t n) {
  const FloatVector least = hn::Neg(hn::Inf(FloatTag()));
  FloatVector max0 = least, max1 = least;
  std::int64_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
    max0 = hn::Max(max0, Whole{}.load(x + j));
    max1 = hn::Max(max1, Whole{}.load(x + j + kLanes));
  }
  for (; j + kLanes <= n; j += kLanes) max0 = hn::Max(max0, Whole{}.load(x + j));
  if (j < n) max1 = hn::Max(max1, First{n - j}.load_or(x + j, least));
  return hn::GetLane(hn::MaxOfLanes(FloatTag(), hn::Max(max0, max1)));
}

// sums[j] = the sum over rows of x[row * stride + j], in row order.
HWY_INLINE void sum_rows(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  std::int64_t j = 0;
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes) {
    FloatVector sum0 = splat(0.0F), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = x + row * stride + j;
      sum0 = hn::Add(sum0, Whole{}.load(from));
      sum1 = hn::Add(sum1, Whole{}.load(from + kLanes));
      sum2 = hn::Add(sum2, Whole{}.load(from + 2 * kLanes));
      sum3 = hn::Add(sum3, Whole{}.load(from + 3 * kLanes));
    }
    Whole{}.store(sum0, sums + j);
    Whole{}.store(sum1, sums + j + kLanes);
    Whole{}.store(sum2, sums + j + 2 * kLanes);
    Whole{}.store(sum3, sums + j + 3 * kLanes);
  }
  for_each_vector(columns - j, [&](auto at, std::int64_t offset) HWY_ATTR {
    FloatVector sum = splat(0.0F);
    for (std::int64_t row = 0; row < rows; ++row) sum = hn::Add(sum, at.load(x + row * stride + j + offset));
    at.store(sum, sums + j + offset);
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
