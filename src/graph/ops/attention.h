// Scaled dot-product attention in blocks; the score matrix is never in memory.
//
// Flash attention (Dao et al. 2022, "FlashAttention"; Dao 2023, "FlashAttention-2"): the softmax is computed while
// walking over blocks of keys with a running maximum and sum; the gradient recomputes each block's probabilities from
// the stored log-sum-exp.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// attention. Input qkv [batch, sequence, (heads + 2 * kv_heads) * head_size]: the queries of all heads, then keys, then
// values; outputs out [batch, sequence, heads * head_size] and log-sum-exp of the scaled scores f32 [batch, heads,
// sequence]. Scores are scaled by 1 / sqrt(head_size); causal: position i sees 0..i. With fewer heads of keys and
// values than of queries, heads / kv_heads consecutive heads of queries share one (Ainslie et al. 2023, "GQA").
struct AttentionAttributes {
  std::int64_t heads = 1;
  bool causal = true;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t key_value_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  // Of the last axis of qkv, in heads.
  std::int64_t all_heads() const { return heads + 2 * key_value_heads(); }
  static AttentionAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& attention_op();
ValueId attention(Graph& graph, ValueId qkv, AttentionAttributes attributes);

// attention_grad. Inputs dout, qkv, out, log-sum-exp; output dqkv.
const Op& attention_grad_op();

}  // namespace headway::graph
