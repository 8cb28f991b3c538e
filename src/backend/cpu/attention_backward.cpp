// Attention backward: probabilities are computed again from the log-sum-exp (Dao et al. 2022).
//
// With P = exp(S - lse), dP = dO V^T and delta = rowsum(dO * O): dS = P * (dP - delta); dV = P^T dO, dK = scale dS^T Q,
// dQ = scale dS K. Blocks of keys are outside and blocks of queries inside: dK and dV of the block of keys are complete
// when its queries are through, and dQ of the whole head grows in scratch. Where a head is cut into parts, each part
// has its range of keys and a dQ of its own in the workspace; a second stage adds them in order.
#include "backend/cpu/attention_problem.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/attention_block-inl.h"

#ifndef HEADWAY_BACKEND_CPU_ATTENTION_BACKWARD_ONCE
#define HEADWAY_BACKEND_CPU_ATTENTION_BACKWARD_ONCE
namespace headway::backend {
namespace {

inline constexpr std::int64_t kBackwardKeyBlock = 64;

// A tile's scratch: what the queries of all heads of a group bring along, one head after another, and one block of
// keys.
struct BackwardScratch {
  BackwardScratch(const AttentionProblem& problem, float* base) : scratch(base) {
    const std::int64_t padded = AttentionProblem::padded(problem.head_size);
    const std::int64_t positions = problem.group() * problem.positions();
    queries = scratch.take(positions * padded);
    queries_transposed = scratch.take(positions * problem.head_size);
    dout = scratch.take(positions * padded);
    dout_transposed = scratch.take(positions * problem.head_size);
    dqueries = scratch.take(positions * padded);
    log_sum_exp = scratch.take(positions);
    delta = scratch.take(positions);
    keys = scratch.take(kBackwardKeyBlock * padded);
    values = scratch.take(kBackwardKeyBlock * padded);
    dkeys = scratch.take(kBackwardKeyBlock * padded);
    dvalues = scratch.take(kBackwardKeyBlock * padded);
    p = scratch.take(kBackwardKeyBlock * kQueryBlock);
    ds = scratch.take(kBackwardKeyBlock * kQueryBlock);
  }
  Scratch scratch;
  float *queries, *dout, *dqueries;             // [positions, padded]
  float *queries_transposed, *dout_transposed;  // blocks of [head_size, kQueryBlock]; the queries times the scale
  float *log_sum_exp, *delta;                   // [positions]
  float *keys, *values, *dkeys, *dvalues;       // [kBackwardKeyBlock, padded]
  float *p, *ds;                                // transposed: [kBackwardKeyBlock, kQueryBlock]
};

struct BackwardOperands {
  const float *dout, *qkv, *out, *log_sum_exp;
  float* dqkv;
  float* partial;  // [batch * kv_heads, parts, group * positions, padded]: dQ of each part, where there are several
};

}  // namespace
}  // namespace headway::backend
#endif  // HEADWAY_BACKEND_CPU_ATTENTION_BACKWARD_ONCE

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Packs what queries [first, sequence) of a head bring along, to `place` positions behind; first is the start of a
// block.
void pack_queries(const AttentionProblem& problem, const BackwardOperands& operands, std::int64_t head,
                  std::int64_t first, std::int64_t place, const BackwardScratch& scratch) {
  const FloatTag tag;
  const std::int64_t size = problem.head_size, padded = AttentionProblem::padded(size);
  const std::int64_t stride = problem.row_stride(), qkv_stride = problem.qkv_row_stride();
  const float* head_queries = operands.qkv + problem.qkv_start(head, 0);
  const float* head_dout = operands.dout + problem.start(head);
  const float* head_out = operands.out + problem.start(head);
  for (std::int64_t query = first; query < problem.sequence; query += kQueryBlock) {
    const std::int64_t rows = std::min(kQueryBlock, problem.sequence - query);
    const float* queries = head_queries + query * qkv_stride;
    const float* dout = head_dout + query * stride;
    const std::int64_t at = place + query;
    pack_rows(queries, qkv_stride, rows, size, padded, scratch.queries + at * padded);
    pack_transposed(queries, qkv_stride, rows, size, problem.scale(), scratch.queries_transposed + at * size);
    pack_rows(dout, stride, rows, size, padded, scratch.dout + at * padded);
    pack_transposed(dout, stride, rows, size, 1.0F, scratch.dout_transposed + at * size);
    for (std::int64_t r = 0; r < kQueryBlock; ++r) {
      float delta = 0.0F, log_sum_exp = 0.0F;
      if (r < rows) {
        const float* out = head_out + (query + r) * stride;
        FloatVector sum = hn::Zero(tag);
        std::int64_t d = 0;
        for (; d + kLanes <= size; d += kLanes) {
          sum = hn::MulAdd(hn::LoadU(tag, dout + r * stride + d), hn::LoadU(tag, out + d), sum);
        }
        delta = hn::GetLane(hn::SumOfLanes(tag, sum));
        for (; d < size; ++d) delta += dout[r * stride + d] * out[d];
        log_sum_exp = operands.log_sum_exp[head * problem.sequence + query + r];
      }
      scratch.delta[at + r] = delta;
      scratch.log_sum_exp[at + r] = log_sum_exp;
    }
  }
}

// From scores in `p` and dP in `ds`: the probabilities and dS, 0 where a query does not see a key.
void differentiate_softmax(const BackwardScratch& scratch, std::int64_t query, std::int64_t keys, std::int64_t vectors,
                           std::int64_t shift) {
  const FloatTag tag;
  for (std::int64_t v = 0; v < vectors; ++v) {
    const SeenKeys seen(v, keys, shift);
    const FloatVector log_sum_exp = hn::Load(tag, scratch.log_sum_exp + query + v * kLanes);
    const FloatVector delta = hn::Load(tag, scratch.delta + query + v * kLanes);
    float* p_column = scratch.p + v * kLanes;
    float* ds_column = scratch.ds + v * kLanes;
    std::int64_t k = 0;
    for (; k < seen.by_all; ++k, p_column += kQueryBlock, ds_column += kQueryBlock) {
      const FloatVector p = exp_of(hn::Sub(hn::Load(tag, p_column), log_sum_exp));
      hn::Store(p, tag, p_column);
      hn::Store(hn::Mul(p, hn::Sub(hn::Load(tag, ds_column), delta)), tag, ds_column);
    }
    for (; k < seen.by_any; ++k, p_column += kQueryBlock, ds_column += kQueryBlock) {
      const auto mask = seeing(v, k, shift);
      const FloatVector p = hn::IfThenElseZero(mask, exp_of(hn::Sub(hn::Load(tag, p_column), log_sum_exp)));
      hn::Store(p, tag, p_column);
      hn::Store(hn::IfThenElseZero(mask, hn::Mul(p, hn::Sub(hn::Load(tag, ds_column), delta))), tag, ds_column);
    }
    for (; k < keys; ++k, p_column += kQueryBlock, ds_column += kQueryBlock) {
      hn::Store(hn::Zero(tag), tag, p_column);
      hn::Store(hn::Zero(tag), tag, ds_column);
    }
  }
}

// One block of keys against one block of queries, which stands at `query` in the scratch.
void accumulate_block(const AttentionProblem& problem, const BackwardScratch& scratch, std::int64_t query,
                      std::int64_t queries, std::int64_t keys, std::int64_t shift, bool first_queries, bool first_keys,
                      Prefetcher& prefetcher) {
  const std::int64_t size = problem.head_size, padded = AttentionProblem::padded(size);
  const std::int64_t vectors = divide_up(queries, kLanes);
  Product scores{.a = scratch.keys,
                 .a_stride = padded,
                 .b = scratch.queries_transposed + query * size,
                 .b_stride = kQueryBlock,
                 .c = scratch.p,
                 .c_stride = kQueryBlock,
                 .rows = keys,
                 .vectors = vectors,
                 .depth = size,
                 .add = false};
  multiply<ByRow::kYes, Skip::kEarlyColumns>(scores, shift, prefetcher);
  scores.a = scratch.values;
  scores.b = scratch.dout_transposed + query * size;
  scores.c = scratch.ds;
  multiply<ByRow::kYes, Skip::kEarlyColumns>(scores, shift, prefetcher);
  differentiate_softmax(scratch, query, keys, vectors, shift);

  Product by_keys{.a = scratch.p,
                  .a_stride = kQueryBlock,
                  .b = scratch.dout + query * padded,
                  .b_stride = padded,
                  .c = scratch.dvalues,
                  .c_stride = padded,
                  .rows = keys,
                  .vectors = padded / kLanes,
                  .depth = queries,
                  .add = !first_queries};
  multiply<ByRow::kYes, Skip::kEarlyDepth>(by_keys, shift, prefetcher);
  by_keys.a = scratch.ds;
  by_keys.b = scratch.queries + query * padded;
  by_keys.c = scratch.dkeys;
  multiply<ByRow::kYes, Skip::kEarlyDepth>(by_keys, shift, prefetcher);
  multiply<ByRow::kNo, Skip::kLateDepth>({.a = scratch.ds,
                                          .a_stride = kQueryBlock,
                                          .b = scratch.keys,
                                          .b_stride = padded,
                                          .c = scratch.dqueries + query * padded,
                                          .c_stride = padded,
                                          .rows = queries,
                                          .vectors = padded / kLanes,
                                          .depth = keys,
                                          .add = !first_keys},
                                         shift, prefetcher);
}

void AttentionBackwardItem(const AttentionProblem& problem, std::int64_t index, const BackwardOperands& operands,
                           float* scratch_base) {
  BackwardScratch scratch(problem, scratch_base);
  const AttentionItem item(problem, index);
  const std::int64_t size = problem.head_size, padded = AttentionProblem::padded(size);
  const std::int64_t stride = problem.qkv_row_stride();
  const std::int64_t group = problem.group(), positions = problem.positions();
  const std::int64_t head = problem.first_of_group(item.head);
  if (problem.parts > 1) scratch.dqueries = operands.partial + index * group * positions * padded;

  const std::int64_t first_key = item.first_block * kBackwardKeyBlock;
  const std::int64_t last_key = std::min(item.last_block * kBackwardKeyBlock, problem.sequence);
  const auto first_query = [&problem](std::int64_t key) {
    return problem.causal ? key / kQueryBlock * kQueryBlock : 0;
  };
  Prefetcher prefetcher;
  if (problem.prefetches() && index + 1 < problem.items()) {
    const std::int64_t next = head + group;
    prefetcher.add(operands.qkv + problem.qkv_start(next, 0), stride, problem.sequence, group * size);
    prefetcher.add(operands.dout + problem.start(next), problem.row_stride(), problem.sequence, group * size);
    prefetcher.add(operands.out + problem.start(next), problem.row_stride(), problem.sequence, group * size);
    prefetcher.add(operands.qkv + problem.qkv_start(next, 1), stride, problem.sequence, size);
    prefetcher.add(operands.qkv + problem.qkv_start(next, 2), stride, problem.sequence, size);
    prefetcher.spread(5 * group * problem.steps_of_product());
  }
  for (std::int64_t shared = 0; shared < group; ++shared) {
    pack_queries(problem, operands, head + shared, first_query(first_key), shared * positions, scratch);
  }
  for (std::int64_t key = first_key; key < last_key; key += kBackwardKeyBlock) {
    const std::int64_t keys = std::min(kBackwardKeyBlock, last_key - key);
    const std::int64_t keys_start = problem.qkv_start(head, 1) + key * stride;
    const std::int64_t values_start = problem.qkv_start(head, 2) + key * stride;
    pack_rows(operands.qkv + keys_start, stride, keys, size, padded, scratch.keys);
    pack_rows(operands.qkv + values_start, stride, keys, size, padded, scratch.values);
    for (std::int64_t shared = 0; shared < group; ++shared) {
      for (std::int64_t query = first_query(key); query < problem.sequence; query += kQueryBlock) {
        const std::int64_t shift = problem.causal ? query - key : problem.sequence;
        const bool first = shared == 0 && query == first_query(key);
        accumulate_block(problem, scratch, shared * positions + query, std::min(kQueryBlock, problem.sequence - query),
                         keys, shift, first, key == first_key, prefetcher);
      }
    }
    unpack_rows(scratch.dkeys, padded, keys, size, problem.scale(), operands.dqkv + keys_start, stride);
    unpack_rows(scratch.dvalues, padded, keys, size, 1.0F, operands.dqkv + values_start, stride);
  }
  if (problem.parts == 1) {
    for (std::int64_t shared = 0; shared < group; ++shared) {
      unpack_rows(scratch.dqueries + shared * positions * padded, padded, problem.sequence, size, problem.scale(),
                  operands.dqkv + problem.qkv_start(head + shared, 0), stride);
    }
  }
  hwy::FlushStream();
}

// dQ of one block of queries of one head of queries: the sum over the parts, in order. Parts whose keys all come later
// add nothing.
void AttentionSumParts(const AttentionProblem& problem, std::int64_t head, std::int64_t query,
                       const BackwardOperands& operands) {
  const FloatTag tag;
  const std::int64_t padded = AttentionProblem::padded(problem.head_size);
  const std::int64_t rows = std::min(kQueryBlock, problem.sequence - query);
  const std::int64_t kv_head = head / problem.group(), positions = problem.group() * problem.positions();
  float* first = operands.partial +
                 (kv_head * problem.parts * positions + head % problem.group() * problem.positions() + query) * padded;
  for (std::int64_t part = 1; part < problem.parts; ++part) {
    const AttentionItem item(problem, kv_head * problem.parts + part);
    if (problem.causal && item.first_block * kBackwardKeyBlock >= query + rows) break;
    const float* other = first + part * positions * padded;
    for (std::int64_t i = 0; i < rows * padded; i += kLanes) {
      hn::Store(hn::Add(hn::Load(tag, first + i), hn::Load(tag, other + i)), tag, first + i);
    }
  }
  unpack_rows(first, padded, rows, problem.head_size, problem.scale(),
              operands.dqkv + problem.qkv_start(head, 0) + query * problem.qkv_row_stride(), problem.qkv_row_stride());
  hwy::FlushStream();
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {
namespace {

HWY_EXPORT(AttentionBackwardItem);
HWY_EXPORT(AttentionSumParts);

class AttentionBackward final : public CpuKernel {
 public:
  explicit AttentionBackward(const AttentionProblem& problem)
      : CpuKernel(stages(problem)),
        problem_(problem),
        scratch_floats_(BackwardScratch(problem, nullptr).scratch.used()) {}

  Bytes workspace() const override {
    return Bytes((problem_.tiles() * scratch_floats_ + partial_floats()) * std::int64_t{sizeof(float)});
  }
  std::string variant() const override { return "highway"; }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    auto* workspace = reinterpret_cast<float*>(args.workspace);
    const BackwardOperands operands{.dout = static_cast<const float*>(args.inputs[0]),
                                    .qkv = static_cast<const float*>(args.inputs[1]),
                                    .out = static_cast<const float*>(args.inputs[2]),
                                    .log_sum_exp = static_cast<const float*>(args.inputs[3]),
                                    .dqkv = static_cast<float*>(args.outputs[0]),
                                    .partial = workspace + problem_.tiles() * scratch_floats_};
    if (stage == 1) {
      const std::int64_t blocks = divide_up(problem_.sequence, kQueryBlock);
      HWY_DYNAMIC_DISPATCH(AttentionSumParts)(problem_, tile / blocks, tile % blocks * kQueryBlock, operands);
      return;
    }
    for (std::int64_t item = problem_.first_item(tile); item < problem_.first_item(tile + 1); ++item) {
      HWY_DYNAMIC_DISPATCH(AttentionBackwardItem)
      (problem_, item, operands, workspace + tile * scratch_floats_);
    }
  }

 private:
  static std::vector<std::int64_t> stages(const AttentionProblem& problem) {
    if (problem.parts == 1) return {problem.tiles()};
    return {problem.tiles(), problem.batch * problem.heads * divide_up(problem.sequence, kQueryBlock)};
  }
  std::int64_t partial_floats() const {
    if (problem_.parts == 1) return 0;
    return problem_.items() * problem_.group() * problem_.positions() * AttentionProblem::padded(problem_.head_size);
  }

  AttentionProblem problem_;
  std::int64_t scratch_floats_;
};

}  // namespace

std::unique_ptr<CpuKernel> prepare_attention_grad(const KernelRequest& request) {
  return std::make_unique<AttentionBackward>(
      AttentionProblem::from(request, request.inputs[1], kBackwardKeyBlock, true));
}

}  // namespace headway::backend
#endif  // HWY_ONCE
