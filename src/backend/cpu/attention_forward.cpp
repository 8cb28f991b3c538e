// Attention forward: blocks of queries against blocks of keys (Dao et al. 2022; Dao 2023).
//
// For a block of queries Q and each block of keys K, V that it sees, S^T = K Q^T; a running maximum m and sum l per
// query turn S into P = exp(S - m); the output so far is rescaled when m grows, and P V is added. At the end the output
// is divided by l, and m + log l is the log-sum-exp. Scores lie transposed, queries along the vectors, so that maximum
// and sum run down the columns and never across a vector.
#include "backend/cpu/attention_problem.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention_forward.cpp"
#include <hwy/foreach_target.h>

#include <hwy/contrib/math/math-inl.h>
#include <limits>

#include "backend/cpu/attention_block-inl.h"

#ifndef HEADWAY_BACKEND_CPU_ATTENTION_FORWARD_ONCE
#define HEADWAY_BACKEND_CPU_ATTENTION_FORWARD_ONCE
namespace headway::backend {
namespace {

inline constexpr std::int64_t kForwardKeyBlock = 64;

// A tile's scratch: the keys and values of a head, and one block.
struct ForwardScratch {
  ForwardScratch(const AttentionProblem& problem, float* base) : scratch(base) {
    const std::int64_t padded = AttentionProblem::padded(problem.head_size);
    keys = scratch.take(problem.sequence * padded);
    values = scratch.take(problem.sequence * padded);
    queries = scratch.take(problem.head_size * kQueryBlock);
    scores = scratch.take(kForwardKeyBlock * kQueryBlock);
    out = scratch.take(kQueryBlock * padded);
    maximum = scratch.take(kQueryBlock);
    sum = scratch.take(kQueryBlock);
    rescale = scratch.take(kQueryBlock);
  }
  Scratch scratch;
  float *keys, *values;  // [sequence, padded]
  float* queries;        // [head_size, kQueryBlock]
  float* scores;         // [kForwardKeyBlock, kQueryBlock]
  float* out;            // [kQueryBlock, padded]
  float *maximum, *sum, *rescale;
};

}  // namespace
}  // namespace headway::backend
#endif  // HEADWAY_BACKEND_CPU_ATTENTION_FORWARD_ONCE

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Turns a block of scores into probabilities relative to the running maximum; keys that a query does not see get 0.
// `rescale` is what the sums so far have to be multiplied by.
HWY_INLINE void softmax_block(const ForwardScratch& scratch, std::int64_t keys, std::int64_t vectors,
                              std::int64_t shift) {
  const FloatTag tag;
  for (std::int64_t v = 0; v < vectors; ++v) {
    float* column = scratch.scores + v * kLanes;
    const SeenKeys seen(v, keys, shift);
    const FloatVector old_maximum = hn::Load(tag, scratch.maximum + v * kLanes);
    FloatVector highest[4] = {old_maximum, old_maximum, old_maximum, old_maximum};
    std::int64_t k = 0;
    for (; k + 4 <= seen.by_all; k += 4) {
      for (std::int64_t i = 0; i < 4; ++i) {
        highest[i] = hn::Max(highest[i], hn::Load(tag, column + (k + i) * kQueryBlock));
      }
    }
    for (; k < seen.by_all; ++k) highest[0] = hn::Max(highest[0], hn::Load(tag, column + k * kQueryBlock));
    for (; k < seen.by_any; ++k) {
      const FloatVector score = hn::Load(tag, column + k * kQueryBlock);
      highest[1] = hn::Max(highest[1], hn::IfThenElse(seeing(v, k, shift), score, old_maximum));
    }
    const FloatVector maximum = hn::Max(hn::Max(highest[0], highest[1]), hn::Max(highest[2], highest[3]));
    const FloatVector rescale = exp_of(hn::Sub(old_maximum, maximum));
    FloatVector sum = hn::Mul(rescale, hn::Load(tag, scratch.sum + v * kLanes));
    for (k = 0; k < seen.by_all; ++k) {
      const FloatVector p = exp_of(hn::Sub(hn::Load(tag, column + k * kQueryBlock), maximum));
      sum = hn::Add(sum, p);
      hn::Store(p, tag, column + k * kQueryBlock);
    }
    for (; k < seen.by_any; ++k) {
      const FloatVector p =
          hn::IfThenElseZero(seeing(v, k, shift), exp_of(hn::Sub(hn::Load(tag, column + k * kQueryBlock), maximum)));
      sum = hn::Add(sum, p);
      hn::Store(p, tag, column + k * kQueryBlock);
    }
    for (; k < keys; ++k) hn::Store(hn::Zero(tag), tag, column + k * kQueryBlock);
    hn::Store(maximum, tag, scratch.maximum + v * kLanes);
    hn::Store(sum, tag, scratch.sum + v * kLanes);
    hn::Store(rescale, tag, scratch.rescale + v * kLanes);
  }
}

void AttentionForwardItem(const AttentionProblem& problem, std::int64_t index, const float* qkv, float* out,
                          float* log_sum_exp, float* scratch_base) {
  const FloatTag tag;
  const ForwardScratch scratch(problem, scratch_base);
  const AttentionItem item(problem, index);
  const std::int64_t size = problem.head_size, padded = AttentionProblem::padded(size),
                     stride = problem.qkv_row_stride();
  const std::int64_t last_query = std::min(item.last_block * kQueryBlock, problem.sequence);
  const std::int64_t all_keys = problem.causal ? last_query : problem.sequence;
  Prefetcher prefetcher;
  if (problem.prefetches() && index + 1 < problem.items()) {
    for (const std::int64_t which : {1, 2, 0}) {
      prefetcher.add(qkv + problem.qkv_start(item.head + 1, which), stride, problem.sequence, size);
    }
    prefetcher.spread(2 * problem.steps_of_product());
  }
  pack_rows(qkv + problem.qkv_start(item.head, 1), stride, all_keys, size, padded, scratch.keys);
  pack_rows(qkv + problem.qkv_start(item.head, 2), stride, all_keys, size, padded, scratch.values);

  for (std::int64_t query = item.first_block * kQueryBlock; query < last_query; query += kQueryBlock) {
    const std::int64_t queries = std::min(kQueryBlock, last_query - query);
    const std::int64_t vectors = divide_up(queries, kLanes);
    pack_transposed(qkv + problem.qkv_start(item.head, 0) + query * stride, stride, queries, size, problem.scale(),
                    scratch.queries);
    for (std::int64_t q = 0; q < kQueryBlock; ++q) scratch.maximum[q] = std::numeric_limits<float>::lowest();
    for (std::int64_t q = 0; q < kQueryBlock; ++q) scratch.sum[q] = 0.0F;

    const std::int64_t seen_keys = problem.causal ? query + queries : problem.sequence;
    for (std::int64_t key = 0; key < seen_keys; key += kForwardKeyBlock) {
      const std::int64_t keys = std::min(kForwardKeyBlock, seen_keys - key);
      const std::int64_t shift = problem.causal ? query - key : problem.sequence;
      multiply<ByRow::kYes, Skip::kEarlyColumns>({.a = scratch.keys + key * padded,
                                                  .a_stride = padded,
                                                  .b = scratch.queries,
                                                  .b_stride = kQueryBlock,
                                                  .c = scratch.scores,
                                                  .c_stride = kQueryBlock,
                                                  .rows = keys,
                                                  .vectors = vectors,
                                                  .depth = size,
                                                  .add = false},
                                                 shift, prefetcher);
      softmax_block(scratch, keys, vectors, shift);
      if (key > 0) {
        for (std::int64_t q = 0; q < queries; ++q) {
          const FloatVector rescale = splat(scratch.rescale[q]);
          for (std::int64_t d = 0; d < padded; d += kLanes) {
            float* sum = scratch.out + q * padded + d;
            hn::Store(hn::Mul(hn::Load(tag, sum), rescale), tag, sum);
          }
        }
      }
      multiply<ByRow::kNo, Skip::kLateDepth>({.a = scratch.scores,
                                              .a_stride = kQueryBlock,
                                              .b = scratch.values + key * padded,
                                              .b_stride = padded,
                                              .c = scratch.out,
                                              .c_stride = padded,
                                              .rows = queries,
                                              .vectors = padded / kLanes,
                                              .depth = keys,
                                              .add = key > 0},
                                             shift, prefetcher);
    }

    for (std::int64_t v = 0; v < vectors; ++v) {
      const FloatVector sum = hn::Load(tag, scratch.sum + v * kLanes);
      hn::Store(hn::Add(hn::Load(tag, scratch.maximum + v * kLanes), hn::Log(tag, sum)), tag,
                scratch.maximum + v * kLanes);
      hn::Store(hn::Div(splat(1.0F), sum), tag, scratch.rescale + v * kLanes);
    }
    std::copy_n(scratch.maximum, queries, log_sum_exp + item.head * problem.sequence + query);
    float* rows = out + problem.start(item.head) + query * problem.row_stride();
    for (std::int64_t q = 0; q < queries; ++q) {
      unpack_rows(scratch.out + q * padded, padded, 1, size, scratch.rescale[q], rows + q * problem.row_stride(),
                  problem.row_stride());
    }
  }
  hwy::FlushStream();
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {
namespace {

HWY_EXPORT(AttentionForwardItem);

class AttentionForward final : public CpuKernel {
 public:
  explicit AttentionForward(const AttentionProblem& problem)
      : CpuKernel({problem.tiles()}),
        problem_(problem),
        scratch_floats_(ForwardScratch(problem, nullptr).scratch.used()) {}

  Bytes workspace() const override { return Bytes(problem_.tiles() * scratch_floats_ * std::int64_t{sizeof(float)}); }
  std::string variant() const override { return "highway"; }

  void run(std::size_t /*stage*/, std::int64_t tile, const KernelArgs& args) const override {
    const auto* qkv = static_cast<const float*>(args.inputs[0]);
    auto* out = static_cast<float*>(args.outputs[0]);
    auto* log_sum_exp = static_cast<float*>(args.outputs[1]);
    float* scratch = reinterpret_cast<float*>(args.workspace) + tile * scratch_floats_;
    for (std::int64_t item = problem_.first_item(tile); item < problem_.first_item(tile + 1); ++item) {
      HWY_DYNAMIC_DISPATCH(AttentionForwardItem)(problem_, item, qkv, out, log_sum_exp, scratch);
    }
  }

 private:
  AttentionProblem problem_;
  std::int64_t scratch_floats_;
};

}  // namespace

std::unique_ptr<CpuKernel> prepare_attention(const KernelRequest& request) {
  return std::make_unique<AttentionForward>(AttentionProblem::from(request, request.inputs[0], kQueryBlock, false));
}

}  // namespace headway::backend
#endif  // HWY_ONCE
