// Attention against the fp64 reference, and its bits against the number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend/cpu/kernels.h"
#include "backend/reference/reference.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "graph/ops/attention.h"

namespace headway::backend {
namespace {

struct Case {
  std::int64_t batch, sequence, heads, head_size;
  bool causal;
  double spread = 1;  // standard deviation of queries, keys and values
  std::int64_t kv_heads = 0;

  graph::AttentionAttributes attributes() const { return {heads, causal, kv_heads}; }
  std::int64_t qkv_width() const { return attributes().all_heads() * head_size; }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.batch << " x " << c.sequence << " x " << c.heads << " x " << c.head_size
             << (c.causal ? " causal" : " full") << " spread " << c.spread;
}

std::vector<float> random_floats(std::int64_t count, std::uint32_t stream, double spread) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = random_normal(1, stream, 0, i) * static_cast<float>(spread);
  }
  return values;
}

reference::Tensor to_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Memory with a guard of known bits behind it, filled with NaN: what a kernel leaves unwritten or writes outside shows.
class Guarded {
 public:
  explicit Guarded(std::int64_t floats)
      : size_(static_cast<std::size_t>(floats)), storage_(size_ + 2 * kGuard + kAlign, kCanary) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data() + kGuard);
    offset_ = kGuard + (64 - address % 64) % 64 / sizeof(float);
    std::fill_n(data(), size_, std::nanf(""));
  }
  float* data() { return storage_.data() + offset_; }
  std::vector<float> values() { return {data(), data() + size_}; }
  bool intact() const {
    const auto is_canary = [](float value) { return value == kCanary; };
    return std::all_of(storage_.begin(), storage_.begin() + static_cast<std::ptrdiff_t>(offset_), is_canary) &&
           std::all_of(storage_.begin() + static_cast<std::ptrdiff_t>(offset_ + size_), storage_.end(), is_canary);
  }

 private:
  static constexpr std::size_t kGuard = 64, kAlign = 16;
  static constexpr float kCanary = 12345.678F;
  std::size_t size_, offset_ = 0;
  std::vector<float> storage_;
};

struct Types {
  graph::Attributes attributes;
  std::vector<graph::TensorType> forward_in, forward_out, backward_in;

  explicit Types(const Case& c) : attributes(c.attributes().to_attributes()) {
    forward_in = {{DType::kF32, Shape{c.batch, c.sequence, c.qkv_width()}}};
    forward_out = graph::attention_op().infer(attributes, forward_in);
    backward_in = {forward_out[0], forward_in[0], forward_out[0], forward_out[1]};
  }
};

void run_kernel(const CpuKernel& kernel, ThreadPool& pool, std::vector<const void*> inputs,
                std::vector<Guarded>& outputs) {
  Guarded workspace(kernel.workspace().value / std::int64_t{sizeof(float)});
  std::vector<void*> addresses;
  for (Guarded& output : outputs) addresses.push_back(output.data());
  const KernelArgs args{inputs, addresses, reinterpret_cast<std::byte*>(workspace.data())};
  for (std::size_t stage = 0; stage < kernel.stages().size(); ++stage) {
    pool.parallel(kernel.stages()[stage], [&](std::int64_t tile) { kernel.run(stage, tile, args); });
  }
  EXPECT_TRUE(workspace.intact());
  for (Guarded& output : outputs) EXPECT_TRUE(output.intact());
}

struct Outcome {
  std::vector<float> out, log_sum_exp, dqkv;
};

struct Operands {
  std::vector<float> qkv, dout;
  explicit Operands(const Case& c)
      : qkv(random_floats(c.batch * c.sequence * c.qkv_width(), 1, c.spread)),
        dout(random_floats(c.batch * c.sequence * c.heads * c.head_size, 2, 1)) {}
};

Outcome run_both(const Case& c, const Operands& operands, int threads) {
  const Types types(c);
  ThreadPool pool(threads);
  const auto forward =
      prepare_attention({graph::attention_op(), types.attributes, types.forward_in, types.forward_out});
  const auto backward =
      prepare_attention_grad({graph::attention_grad_op(), types.attributes, types.backward_in, types.forward_in});
  std::vector<Guarded> results, gradients;
  results.emplace_back(types.forward_out[0].shape.elements());
  results.emplace_back(types.forward_out[1].shape.elements());
  gradients.emplace_back(types.forward_in[0].shape.elements());
  run_kernel(*forward, pool, {operands.qkv.data()}, results);
  run_kernel(*backward, pool, {operands.dout.data(), operands.qkv.data(), results[0].data(), results[1].data()},
             gradients);
  return {results[0].values(), results[1].values(), gradients[0].values()};
}

struct Expected {
  reference::Tensor out, log_sum_exp, dqkv;
};

Expected run_reference(const Case& c, const reference::Tensor& qkv, const reference::Tensor& dout) {
  const Types types(c);
  auto forward = reference::run_op(graph::attention_op(), types.attributes, types.forward_in, types.forward_out, {qkv});
  auto backward = reference::run_op(graph::attention_grad_op(), types.attributes, types.backward_in, types.forward_in,
                                    {dout, qkv, forward[0], forward[1]});
  return {forward[0], forward[1], backward[0]};
}

// The largest difference relative to the root mean square of the expected values (at least `floor`).
double error_of(const std::vector<float>& got, const reference::Tensor& expected, double floor = 1e-3) {
  double worst = 0, squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (!(difference <= worst)) worst = difference;  // NaN stays
    squares += expected[i] * expected[i];
  }
  if (got.empty()) return 0;
  return worst / std::max(floor, std::sqrt(squares / static_cast<double>(got.size())));
}

constexpr double kTolerance = 2e-5;

bool equal_bits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0);
}

void expect_right(const Case& c) {
  SCOPED_TRACE(::testing::PrintToString(c));
  const Operands operands(c);
  const Expected expected = run_reference(c, to_double(operands.qkv), to_double(operands.dout));
  const Outcome got = run_both(c, operands, 1);
  // Scores of size s carry an error of s * 2^-24 into the exponent.
  const double tolerance = kTolerance * std::max(1.0, c.spread * c.spread);
  EXPECT_LT(error_of(got.out, expected.out), tolerance);
  EXPECT_LT(error_of(got.log_sum_exp, expected.log_sum_exp), tolerance);
  EXPECT_LT(error_of(got.dqkv, expected.dqkv), tolerance);
  const Outcome again = run_both(c, operands, 2);
  EXPECT_TRUE(equal_bits(got.out, again.out));
  EXPECT_TRUE(equal_bits(got.log_sum_exp, again.log_sum_exp));
  EXPECT_TRUE(equal_bits(got.dqkv, again.dqkv));
}

TEST(Attention, ChosenShapes) {
  for (const bool causal : {false, true}) {
    expect_right({2, 256, 2, 64, causal});
    expect_right({1, 1, 1, 64, causal});
    expect_right({1, 1, 1, 1, causal});
    expect_right({2, 2, 3, 5, causal});
    expect_right({1, 63, 1, 32, causal});
    expect_right({1, 64, 3, 64, causal});
    expect_right({1, 65, 1, 80, causal});
    expect_right({1, 129, 2, 128, causal});
    expect_right({1, 300, 1, 48, causal});
    expect_right({3, 70, 7, 16, causal});
    expect_right({1, 40, 1, 200, causal});
    expect_right({2, 130, 6, 32, causal, 1, 2});
    expect_right({1, 70, 4, 16, causal, 1, 1});
    expect_right({3, 65, 8, 24, causal, 1, 4});
    expect_right({1, 300, 4, 40, causal, 1, 2});  // few heads of keys: in parts
  }
}

// Few heads of a long sequence are cut into parts whose gradients of the queries are added in a second stage.
TEST(Attention, HeadsInParts) {
  for (const bool causal : {false, true}) {
    const Case c{1, 389, 2, 33, causal};
    const Types types(c);
    const auto backward =
        prepare_attention_grad({graph::attention_grad_op(), types.attributes, types.backward_in, types.forward_in});
    EXPECT_EQ(2U, backward->stages().size());
    expect_right(c);
  }
}

TEST(Attention, RandomShapes) {
  for (std::uint32_t i = 0; i < 60; ++i) {
    const auto draw = [i](std::uint32_t which, std::int64_t least, std::int64_t most) {
      return least +
             static_cast<std::int64_t>(random_bits(7, which, i, 0) % static_cast<std::uint64_t>(most - least + 1));
    };
    expect_right({draw(0, 1, 3), draw(1, 1, 150), draw(2, 1, 4), draw(3, 1, 70), draw(4, 0, 1) == 1});
  }
}

TEST(Attention, EmptyOperands) {
  expect_right({0, 5, 2, 8, true});
  expect_right({2, 0, 2, 8, false});
}

// Scores of several hundred: exp of a score overflows, exp of a score minus the maximum does not.
TEST(Attention, LargeScores) {
  for (const bool causal : {false, true}) {
    expect_right({1, 150, 2, 64, causal, 10});
    expect_right({1, 70, 1, 16, causal, 30});
  }
}

// The reference's own gradient: d(sum(dout * out)) / dqkv by central differences.
TEST(Attention, ReferenceGradientIsTheDerivative) {
  for (const bool causal : {false, true}) {
    const Case c{1, 5, 2, 3, causal};
    const Operands operands(c);
    const reference::Tensor qkv = to_double(operands.qkv), dout = to_double(operands.dout);
    const Expected expected = run_reference(c, qkv, dout);
    const auto objective = [&](std::size_t i, double step) {
      reference::Tensor moved = qkv;
      moved[i] += step;
      const reference::Tensor out = run_reference(c, moved, dout).out;
      double sum = 0;
      for (std::size_t j = 0; j < out.size(); ++j) sum += out[j] * dout[j];
      return sum;
    };
    for (std::size_t i = 0; i < qkv.size(); ++i) {
      EXPECT_NEAR(expected.dqkv[i], (objective(i, 1e-5) - objective(i, -1e-5)) / 2e-5, 1e-8);
    }
  }
}

// Mistakes that a kernel could make, and that the comparison must see.
TEST(Attention, PlantedDefectsAreSeen) {
  const Case causal{1, 130, 2, 24, true}, full{1, 130, 2, 24, false};
  const Operands operands(causal);
  const Outcome got = run_both(causal, operands, 1);
  const Expected unmasked = run_reference(full, to_double(operands.qkv), to_double(operands.dout));
  EXPECT_GT(error_of(got.out, unmasked.out), 100 * kTolerance);
  EXPECT_GT(error_of(got.log_sum_exp, unmasked.log_sum_exp), 100 * kTolerance);
  EXPECT_GT(error_of(got.dqkv, unmasked.dqkv), 100 * kTolerance);

  // One key of the last query moved: as if one probability were computed from a wrong score.
  reference::Tensor moved = to_double(operands.qkv);
  moved[static_cast<std::size_t>(100 * 144 + 48)] += 0.01;
  const Expected other = run_reference(causal, moved, to_double(operands.dout));
  EXPECT_GT(error_of(got.dqkv, other.dqkv), kTolerance);
  // One row of the gradient dropped.
  const Expected right = run_reference(causal, to_double(operands.qkv), to_double(operands.dout));
  std::vector<float> dropped = got.dqkv;
  std::fill_n(dropped.begin() + 64 * 144 + 48, 24, 0.0F);
  EXPECT_LT(error_of(got.dqkv, right.dqkv), kTolerance);
  EXPECT_GT(error_of(dropped, right.dqkv), kTolerance);
}

}  // namespace
}  // namespace headway::backend
