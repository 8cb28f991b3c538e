// Dropout: the vector form of Philox4x32-10 (base/rng.h), 32 elements at a time with AVX-512.
//
// One counter gives the words of four elements in a row. A 64-bit lane holds one word of one counter, so the product
// that a round needs is one instruction; what a product leaves in the upper half of a lane is never read. Lane 2k works
// on counter k and lane 2k + 1 on counter k + lanes/2: then interleaving puts the words in the order of the elements.
#include "graph/ops/dropout.h"

#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/dropout.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

#ifndef HEADWAY_BACKEND_CPU_DROPOUT_DRAW
#define HEADWAY_BACKEND_CPU_DROPOUT_DRAW
namespace headway::backend {
namespace {

// What a launch draws with: an element is kept when the upper 24 bits of its word are at least `threshold`.
struct DropoutDraw {
  std::uint64_t seed;
  std::uint32_t stream, step;
  std::int32_t threshold;
  float scale;
};

}  // namespace
}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

using LongTag = hn::ScalableTag<std::uint64_t>;
using LongVector = hn::Vec<LongTag>;
inline constexpr std::int64_t kCounters = HWY_LANES(std::uint64_t);
inline constexpr std::int64_t kGroup = 4 * kCounters;  // elements of one step

// The product of the lower halves of lanes.
HWY_INLINE LongVector product(LongVector a, LongVector b) {
  const hn::Repartition<std::uint32_t, LongTag> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
}

// The words of elements 4 * block .. 4 * block + kGroup - 1.
HWY_INLINE void draw_words(const DropoutDraw& draw, std::uint64_t block, std::uint32_t* words) {
  const LongTag d;
  HWY_ALIGN std::uint64_t offsets[kCounters];
  for (std::int64_t lane = 0; lane < kCounters; ++lane) {
    offsets[lane] = static_cast<std::uint64_t>(lane / 2 + lane % 2 * (kCounters / 2));
  }
  const LongVector counters = hn::Add(hn::Set(d, block), hn::Load(d, offsets));
  LongVector word0 = counters, word1 = hn::ShiftRight<32>(counters);
  LongVector word2 = hn::Set(d, draw.stream), word3 = hn::Set(d, draw.step);
  const LongVector multiplier0 = hn::Set(d, 0xD2511F53U), multiplier1 = hn::Set(d, 0xCD9E8D57U);
  auto key0 = static_cast<std::uint32_t>(draw.seed), key1 = static_cast<std::uint32_t>(draw.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const LongVector product0 = product(multiplier0, word0), product1 = product(multiplier1, word2);
    word0 = hn::Xor3(hn::ShiftRight<32>(product1), word1, hn::Set(d, key0));
    word1 = product1;
    word2 = hn::Xor3(hn::ShiftRight<32>(product0), word3, hn::Set(d, key1));
    word3 = product0;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  const LongVector low = hn::Set(d, 0xFFFFFFFFU);
  const LongVector first = hn::Or(hn::And(word0, low), hn::ShiftLeft<32>(word1));
  const LongVector second = hn::Or(hn::And(word2, low), hn::ShiftLeft<32>(word3));
  const hn::Repartition<std::uint32_t, LongTag> d32;
  hn::Store(hn::BitCast(d32, hn::InterleaveLower(d, first, second)), d32, words);
  hn::Store(hn::BitCast(d32, hn::InterleaveUpper(d, first, second)), d32, words + kGroup / 2);
}

// y = x / (1 - p) or 0 for n elements, the first of which is `element` of the global batch.
void DropElements(const DropoutDraw& draw, std::uint64_t element, const float* x, float* y, std::int64_t n) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const hn::RebindToUnsigned<FloatTag> du;
  const auto thresholds = hn::Set(di, draw.threshold);
  const FloatVector scale = splat(draw.scale);
  HWY_ALIGN std::uint32_t words[kGroup];
  for (std::int64_t i = 0; i < n;) {
    const std::uint64_t block = (element + static_cast<std::uint64_t>(i)) / 4;
    const auto skip = static_cast<std::int64_t>((element + static_cast<std::uint64_t>(i)) % 4);
    draw_words(draw, block, words);
    if (skip == 0 && i + kGroup <= n) {
      for (std::int64_t j = 0; j < kGroup; j += kLanes) {
        const auto uniform = hn::BitCast(di, hn::ShiftRight<8>(hn::Load(du, words + j)));
        const auto kept = hn::RebindMask(d, hn::Not(hn::Lt(uniform, thresholds)));
        hn::StoreU(hn::IfThenElseZero(kept, hn::Mul(hn::LoadU(d, x + i + j), scale)), d, y + i + j);
      }
      i += kGroup;
    } else {
      const std::int64_t end = n < i + kGroup - skip ? n : i + kGroup - skip;
      for (std::int64_t j = skip; i < end; ++i, ++j) {
        y[i] = static_cast<std::int32_t>(words[j] >> 8) >= draw.threshold ? x[i] * draw.scale : 0.0F;
      }
    }
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(DropElements);

std::unique_ptr<CpuKernel> prepare_dropout(const KernelRequest& request) {
  const auto attributes = graph::DropoutAttributes::from(request.attributes);
  const Shape& shape = request.inputs[0].shape;
  const std::int64_t elements = shape.elements(), per_sample = elements / std::max<std::int64_t>(1, shape[0]);
  const Grid grid = flat_grid(elements, 2);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t* position = input<std::int64_t>(args, 1);
    // u >= p with u = k / 2^24 is k >= ceil(p 2^24), which is exact.
    const DropoutDraw draw = {
        static_cast<std::uint64_t>(position[graph::kSeed]), static_cast<std::uint32_t>(attributes.stream),
        static_cast<std::uint32_t>(position[graph::kStep]), static_cast<std::int32_t>(std::ceil(attributes.p * 0x1p24)),
        static_cast<float>(1 / (1 - attributes.p))};
    const std::int64_t begin = grid.begin(tile);
    const std::int64_t element = position[graph::kFirstSample] * per_sample + begin;
    HWY_DYNAMIC_DISPATCH(DropElements)
    (draw, static_cast<std::uint64_t>(element), input(args, 0) + begin, output(args, 0) + begin, grid.length(tile));
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
