#include "graph/ops/attention.h"
#include "graph/ops/linear.h"
#include "graph/ops/rotary.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

// None, every kind, and a slope that is not the default.
std::vector<graph::Activation> all_kinds() {
  std::vector<graph::Activation> kinds = {graph::Activation::kNone, {graph::Activation::kLeakyRelu, 0.3}};
  kinds.insert(kinds.end(), graph::kActivations.begin(), graph::kActivations.end());
  return kinds;
}

// x with the leading axes `rows` times w [n, k], with and without bias.
void linear_shapes(CaseMaker& maker, const graph::Attributes& attributes, std::vector<std::int64_t> x, std::int64_t n,
                   bool large = false) {
  const Shape shape{std::move(x)};
  const std::int64_t k = shape[-1];
  maker.add(attributes, {maker.floats(shape), maker.floats({n, k}, -1, 1), maker.f32({n})}).large = large;
  maker.add(attributes, {maker.floats(shape), maker.floats({n, k}, -1, 1)}).large = large;
}

}  // namespace

void linear_cases(CaseMaker& maker) {
  for (const graph::Activation kind : all_kinds()) {
    for (const bool keep_pre : {false, true}) {
      if (keep_pre && kind == graph::Activation::kNone) continue;
      const graph::Attributes attributes = graph::LinearAttributes{kind, keep_pre}.to_attributes();
      linear_shapes(maker, attributes, {1, 1}, 1);
      linear_shapes(maker, attributes, {3, 5}, 7);
      linear_shapes(maker, attributes, {0, 5}, 7);
      linear_shapes(maker, attributes, {1, 37}, 1);
      linear_shapes(maker, attributes, {2, 3, 19}, 16);
      linear_shapes(maker, attributes, {maker.random().integer(1, 70), maker.random().integer(1, 70)},
                    maker.random().integer(1, 70));
      linear_shapes(maker, attributes, {301, 130}, 131, true);
    }
  }
  const graph::Attributes plain = graph::LinearAttributes{}.to_attributes();
  linear_shapes(maker, plain, {1031, 16}, 8, true);
  linear_shapes(maker, plain, {5, 300}, 1003, true);
  linear_shapes(maker, plain, {2, 257, 64}, 257, true);
}

void matmul_cases(CaseMaker& maker) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const graph::Attributes attributes = graph::MatmulAttributes{transpose_a, transpose_b, false}.to_attributes();
      const auto product = [&](std::vector<std::int64_t> batch, std::int64_t m, std::int64_t n,
                               std::int64_t k) -> OpCase& {
        std::vector<std::int64_t> a = batch, b = batch;
        for (const std::int64_t extent : transpose_a ? std::vector{k, m} : std::vector{m, k}) a.push_back(extent);
        for (const std::int64_t extent : transpose_b ? std::vector{n, k} : std::vector{k, n}) b.push_back(extent);
        return maker.add(attributes, {maker.floats(Shape(a)), maker.floats(Shape(b), -1, 1)});
      };
      product({}, 1, 1, 1);
      product({}, 3, 5, 7);
      product({}, 0, 5, 7);
      product({}, 4, 3, 0);
      product({0}, 2, 3, 4);
      product({3}, 4, 1, 5);
      product({2, 3}, 5, 4, 3);
      product({}, maker.random().integer(1, 60), maker.random().integer(1, 60), maker.random().integer(1, 60));
      product({}, 257, 131, 203).large = true;
      product({2, 2}, 65, 33, 129).large = true;
    }
  }
  const auto rows = graph::MatmulAttributes{false, false, true}.to_attributes();
  maker.add(rows, {maker.floats({2, 3, 5}), maker.floats({5, 4})});
  maker.add(rows, {maker.floats({3, 5}), maker.floats({5, 1})});
  maker.add(rows, {maker.floats({0, 5}), maker.floats({5, 3})});
  maker.add(rows, {maker.floats({3, 170, 130}), maker.floats({130, 67})}).large = true;
  const auto sum = graph::MatmulAttributes{true, false, true}.to_attributes();
  maker.add(sum, {maker.floats({2, 3, 5}), maker.floats({2, 3, 4})});
  maker.add(sum, {maker.floats({7, 1}), maker.floats({7, 3})});
  maker.add(sum, {maker.floats({0, 5}), maker.floats({0, 3})});
  maker.add(sum, {maker.floats({3, 170, 130}), maker.floats({3, 170, 67}, -1, 1)}).large = true;
  maker.add(sum, {maker.floats({2049, 33}), maker.floats({2049, 17}, -1, 1)}).large = true;
}

namespace {

struct AttentionSize {
  std::int64_t batch, sequence, heads, size;
  bool large = false;
  std::int64_t kv_heads = 0;

  graph::AttentionAttributes attributes(bool causal) const { return {heads, causal, kv_heads}; }
  Shape qkv() const { return {batch, sequence, attributes(false).all_heads() * size}; }
};

std::vector<AttentionSize> attention_sizes(Random& random) {
  return {{1, 1, 1, 1},
          {2, 5, 2, 3},
          {1, 7, 3, 8},
          {0, 4, 2, 4},
          {1, 33, 1, 16},
          {2, random.integer(2, 40), random.integer(1, 4), random.integer(1, 24)},
          {1, 64, 2, 5},
          {2, 130, 1, 64},
          {2, 197, 4, 32, true},
          {2, 9, 4, 6, false, 2},
          {1, 70, 6, 8, false, 1},
          {2, 150, 6, 32, true, 2}};
}

}  // namespace

void rotary_cases(CaseMaker& maker) {
  const auto rotary = [&](Shape x, std::int64_t heads, std::int64_t size, bool inverse) -> OpCase& {
    return maker.add(graph::RotaryAttributes{heads, size, 10000, inverse}.to_attributes(), {maker.floats(x)});
  };
  for (const bool inverse : {false, true}) {
    rotary({1, 1, 2}, 1, 2, inverse);
    rotary({2, 5, 12}, 3, 4, inverse);
    rotary({2, 7, 50}, 2, 18, inverse);  // the rest is copied
    rotary({0, 7, 8}, 1, 8, inverse);
    rotary({3, 130, 9 * 64}, 6, 64, inverse).large = true;
  }
}

void attention_cases(CaseMaker& maker) {
  for (const bool causal : {false, true}) {
    for (const AttentionSize& at : attention_sizes(maker.random())) {
      maker.add(at.attributes(causal).to_attributes(), {maker.floats(at.qkv())}).large = at.large;
    }
    // Scores of several hundred: a softmax without its maximum would overflow.
    maker.add(graph::AttentionAttributes{1, causal}.to_attributes(), {maker.floats({1, 9, 12}, -24, 24)});
  }
}

void attention_grad_cases(CaseMaker& maker) {
  for (const bool causal : {false, true}) {
    for (const AttentionSize& at : attention_sizes(maker.random())) {
      const graph::Attributes attributes = at.attributes(causal).to_attributes();
      const Operand qkv = maker.floats(at.qkv());
      const std::vector<Operand> saved = maker.run(graph::attention_op(), attributes, {qkv});
      const Operand dout = maker.floats({at.batch, at.sequence, at.heads * at.size});
      maker.add(attributes, {dout, qkv, saved[0], saved[1]}).large = at.large;
    }
  }
}

}  // namespace headway::ops_test
