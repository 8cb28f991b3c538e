// The shapes of one attention, where its operands lie, and how its work is cut; shared by forward and backward.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/cpu/cpu_kernel.h"
#include "graph/ops/attention.h"

namespace headway::backend {

// Queries of a block: four vectors of 16 floats. The columns of every block of scores.
inline constexpr std::int64_t kQueryBlock = 64;

// A head of queries (forward) or of keys and values with all the heads of queries that share it (backward) is one item,
// or several (`parts`) where heads are few, each of them a range of query blocks (forward) or of key blocks (backward).
// Tiles are few and walk over several items, so that a tile's scratch stays in its core's cache.
struct AttentionProblem {
  std::int64_t batch = 0, sequence = 0, heads = 0, head_size = 0;
  std::int64_t kv_heads = 0;
  std::int64_t item_heads = 0;  // of the heads, those that items are made of
  bool causal = false;
  std::int64_t block = 0;  // of the axis that is cut into parts
  std::int64_t parts = 1;

  static AttentionProblem from(const KernelRequest& request, const graph::TensorType& qkv, std::int64_t block,
                               bool backward) {
    constexpr std::int64_t kEnoughItems = 8, kLeastBlocks = 2;  // every part packs all queries again
    const graph::AttentionAttributes attributes = graph::AttentionAttributes::from(request.attributes);
    AttentionProblem problem;
    problem.batch = qkv.shape[0];
    problem.sequence = qkv.shape[1];
    problem.heads = attributes.heads;
    problem.kv_heads = attributes.key_value_heads();
    problem.item_heads = backward ? problem.kv_heads : problem.heads;
    problem.head_size = qkv.shape[2] / attributes.all_heads();
    problem.causal = attributes.causal;
    problem.block = block;
    const std::int64_t all_heads = problem.batch * problem.item_heads;
    if (all_heads > 0 && all_heads < kEnoughItems) {
      problem.parts =
          std::clamp<std::int64_t>(problem.blocks() / kLeastBlocks, 1, (kEnoughItems + all_heads - 1) / all_heads);
    }
    return problem;
  }

  std::int64_t blocks() const { return (sequence + block - 1) / block; }
  std::int64_t items() const { return sequence == 0 || head_size == 0 ? 0 : batch * item_heads * parts; }
  std::int64_t tiles() const { return std::min<std::int64_t>(items(), 16); }
  std::int64_t first_item(std::int64_t tile) const { return tile * items() / tiles(); }

  // Head size and sequence rounded up to whole vectors of any target.
  static std::int64_t padded(std::int64_t count) { return (count + 15) / 16 * 16; }

  // Heads of queries that share one of keys and values; the first of those of a head of keys and values.
  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t first_of_group(std::int64_t kv_head) const { return kv_head * group(); }
  // Positions of a head of queries, in whole blocks.
  std::int64_t positions() const { return (sequence + kQueryBlock - 1) / kQueryBlock * kQueryBlock; }

  float scale() const { return 1.0F / std::sqrt(static_cast<float>(head_size)); }

  // Whether the operands of the next head are fetched ahead: only where they fit into the cache beside the current
  // ones. Of longer sequences they are a small part of the work.
  bool prefetches() const { return parts == 1 && sequence * head_size <= 32 * 1024; }

  // About how many steps of the prefetcher a whole head takes for one product of each pair of blocks.
  std::int64_t steps_of_product() const {
    const std::int64_t pairs = causal ? blocks() * (blocks() + 1) / 2 : blocks() * blocks();
    return pairs * (block / 6) * (block / 8);
  }

  // First element of a head of queries in [batch, sequence, heads, head_size] and its stride between positions; the
  // same for queries (0) and for the keys (1) and values (2) that they see, in qkv. Heads count over the batch.
  std::int64_t row_stride() const { return heads * head_size; }
  std::int64_t start(std::int64_t head) const {
    return head / heads * sequence * row_stride() + head % heads * head_size;
  }
  std::int64_t qkv_row_stride() const { return (heads + 2 * kv_heads) * head_size; }
  std::int64_t qkv_start(std::int64_t head, std::int64_t which) const {
    const std::int64_t within = head % heads,
                       column = which == 0 ? within : heads + (which - 1) * kv_heads + within / group();
    return head / heads * sequence * qkv_row_stride() + column * head_size;
  }
};

// One item: blocks [first_block, last_block) of a head.
struct AttentionItem {
  std::int64_t head, part, first_block, last_block;

  AttentionItem(const AttentionProblem& problem, std::int64_t item)
      : head(item / problem.parts),
        part(item % problem.parts),
        first_block(part * problem.blocks() / problem.parts),
        last_block((part + 1) * problem.blocks() / problem.parts) {}
};

// Cuts a tile's slice of the workspace into arrays; with a null base it only counts.
class Scratch {
 public:
  explicit Scratch(float* base) : base_(base) {}
  float* take(std::int64_t floats) {
    float* taken = base_ == nullptr ? nullptr : base_ + used_;
    used_ += AttentionProblem::padded(floats);
    return taken;
  }
  std::int64_t used() const { return used_; }

 private:
  float* base_;
  std::int64_t used_ = 0;
};

}  // namespace headway::backend
