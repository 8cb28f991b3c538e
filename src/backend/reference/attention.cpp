#include "graph/ops/attention.h"

#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

// Where things stand in qkv [batch, sequence, (heads + 2 kv_heads) * size] and out [batch, sequence, heads * size].
struct Layout {
  std::int64_t batch, sequence, heads, kv_heads, size;
  bool causal;

  Layout(const Call& call, const Shape& qkv) {
    const auto attributes = graph::AttentionAttributes::from(call.attributes);
    batch = qkv[0];
    sequence = qkv[1];
    heads = attributes.heads;
    kv_heads = attributes.key_value_heads();
    size = qkv[2] / attributes.all_heads();
    causal = attributes.causal;
  }
  // part: 0 query, 1 key, 2 value, of the head h of queries.
  std::size_t qkv(std::int64_t b, std::int64_t s, int part, std::int64_t h, std::int64_t d) const {
    const std::int64_t head = part == 0 ? h : heads + (part - 1) * kv_heads + h / (heads / kv_heads);
    return static_cast<std::size_t>(((b * sequence + s) * (heads + 2 * kv_heads) + head) * size + d);
  }
  std::size_t out(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d) const {
    return static_cast<std::size_t>(((b * sequence + s) * heads + h) * size + d);
  }
  std::size_t row(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return static_cast<std::size_t>((b * heads + h) * sequence + s);
  }
  // How many keys the query at position s sees.
  std::int64_t keys(std::int64_t s) const { return causal ? s + 1 : sequence; }
  double score_scale() const { return 1 / std::sqrt(static_cast<double>(size)); }

  double score(const Tensor& tensor, std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t key) const {
    double dot = 0;
    for (std::int64_t d = 0; d < size; ++d) dot += tensor[qkv(b, query, 0, h, d)] * tensor[qkv(b, key, 1, h, d)];
    return dot * score_scale();
  }
};

void attend_one_query(const Layout& at, const Call& call, std::int64_t b, std::int64_t h, std::int64_t query) {
  const Tensor& qkv = call.inputs[0];
  Tensor scores;
  for (std::int64_t key = 0; key < at.keys(query); ++key) scores.push_back(at.score(qkv, b, h, query, key));
  double largest = scores[0];
  for (const double score : scores) largest = std::max(largest, score);
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  const double log_sum_exp = largest + std::log(sum);
  call.outputs[1][at.row(b, h, query)] = log_sum_exp;
  for (std::int64_t key = 0; key < at.keys(query); ++key) {
    const double probability = std::exp(scores[static_cast<std::size_t>(key)] - log_sum_exp);
    for (std::int64_t d = 0; d < at.size; ++d) {
      call.outputs[0][at.out(b, query, h, d)] += probability * qkv[at.qkv(b, key, 2, h, d)];
    }
  }
}

// With P the probabilities and dP = dout v^T: dS = P (dP - sum_k P dP), and sum_k P dP = dout . out.
void differentiate_one_query(const Layout& at, const Call& call, std::int64_t b, std::int64_t h, std::int64_t query) {
  const Tensor& dout = call.inputs[0];
  const Tensor& qkv = call.inputs[1];
  const Tensor& out = call.inputs[2];
  const Tensor& log_sum_exp = call.inputs[3];
  Tensor& dqkv = call.outputs[0];
  double mean = 0;
  for (std::int64_t d = 0; d < at.size; ++d) mean += dout[at.out(b, query, h, d)] * out[at.out(b, query, h, d)];
  for (std::int64_t key = 0; key < at.keys(query); ++key) {
    const double probability = std::exp(at.score(qkv, b, h, query, key) - log_sum_exp[at.row(b, h, query)]);
    double dprobability = 0;
    for (std::int64_t d = 0; d < at.size; ++d) {
      dprobability += dout[at.out(b, query, h, d)] * qkv[at.qkv(b, key, 2, h, d)];
      dqkv[at.qkv(b, key, 2, h, d)] += probability * dout[at.out(b, query, h, d)];
    }
    const double dscore = probability * (dprobability - mean) * at.score_scale();
    for (std::int64_t d = 0; d < at.size; ++d) {
      dqkv[at.qkv(b, query, 0, h, d)] += dscore * qkv[at.qkv(b, key, 1, h, d)];
      dqkv[at.qkv(b, key, 1, h, d)] += dscore * qkv[at.qkv(b, query, 0, h, d)];
    }
  }
}

}  // namespace

void attention(const Call& call) {
  const Layout at(call, call.in_shape(0));
  for (std::int64_t b = 0; b < at.batch; ++b) {
    for (std::int64_t h = 0; h < at.heads; ++h) {
      for (std::int64_t query = 0; query < at.sequence; ++query) attend_one_query(at, call, b, h, query);
    }
  }
}

void attention_grad(const Call& call) {
  const Layout at(call, call.in_shape(1));
  for (std::int64_t b = 0; b < at.batch; ++b) {
    for (std::int64_t h = 0; h < at.heads; ++h) {
      for (std::int64_t query = 0; query < at.sequence; ++query) differentiate_one_query(at, call, b, h, query);
    }
  }
}

}  // namespace headway::backend::reference
