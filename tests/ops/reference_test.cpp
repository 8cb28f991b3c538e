// The oracle itself: values worked out by hand, and fused forms against the ops that they fuse.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/reference/reference.h"
#include "base/error.h"
#include "graph/ops/activation.h"
#include "graph/ops/all.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/attention.h"
#include "graph/ops/batchnorm.h"
#include "graph/ops/concat.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/dropout.h"
#include "graph/ops/embedding.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "graph/ops/optimizer.h"
#include "graph/ops/pool.h"
#include "graph/ops/reduce.h"
#include "graph/ops/rmsnorm.h"
#include "graph/ops/swiglu.h"
#include "tests/ops/op_case.h"

namespace headway::ops_test {
namespace {

namespace reference = backend::reference;

struct Given {
  Shape shape;
  Tensor values;
  DType dtype = DType::kF32;
};

std::vector<Tensor> run(const graph::Op& op, const graph::Attributes& attributes, const std::vector<Given>& given) {
  std::vector<graph::TensorType> types;
  std::vector<Tensor> values;
  for (const Given& one : given) {
    types.push_back({one.dtype, one.shape});
    values.push_back(one.values);
  }
  return reference::run_op(op, attributes, types, op.infer(attributes, types), values);
}

void expect_near(const Tensor& found, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

TEST(Reference, KnowsEveryOpOnce) {
  EXPECT_EQ(reference::reference_table().size(), graph::all_ops().size());
  for (const graph::Op* op : graph::all_ops()) {
    int rows = 0;
    for (const reference::ReferenceRow& row : reference::reference_table()) rows += &row.op() == op ? 1 : 0;
    EXPECT_EQ(rows, 1) << op->name();
  }
}

TEST(Reference, LinearAndMatmul) {
  // [1 2] [3 4]^T + 10 = 21; the weight's rows are the outputs.
  expect_near(run(graph::linear_op(), graph::LinearAttributes{}.to_attributes(),
                  {{{1, 2}, {1, 2}}, {{2, 2}, {3, 4, 5, 6}}, {{2}, {10, 20}}})[0],
              {21, 37});
  const Given a = {{2, 3}, {1, 2, 3, 4, 5, 6}}, b = {{3, 2}, {7, 8, 9, 10, 11, 12}};
  expect_near(run(graph::matmul_op(), graph::MatmulAttributes{}.to_attributes(), {a, b})[0], {58, 64, 139, 154});
  const Given at = {{3, 2}, {1, 4, 2, 5, 3, 6}}, bt = {{2, 3}, {7, 9, 11, 8, 10, 12}};
  expect_near(run(graph::matmul_op(), graph::MatmulAttributes{true, true, false}.to_attributes(), {at, bt})[0],
              {58, 64, 139, 154});
}

TEST(Reference, Conv2d) {
  // A 2 x 2 window of ones over a 3 x 3 image with padding 1 on top, left, bottom and right, stride 2.
  graph::Conv2dAttributes conv;
  conv.stride = {2, 2};
  conv.padding = {1, 1};
  expect_near(run(graph::conv2d_op(), conv.to_attributes(),
                  {{{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {{1, 1, 2, 2}, {1, 1, 1, 1}}})[0],
              {1, 5, 11, 28});
  // Dilation 2 sees the corners; the window is not flipped.
  conv = {};
  conv.dilation = {2, 2};
  expect_near(run(graph::conv2d_op(), conv.to_attributes(),
                  {{{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {{1, 1, 2, 2}, {1, 10, 100, 1000}}})[0],
              {1 + 30 + 700 + 9000});
}

TEST(Reference, MaxPoolNamesThePositionAndTheFirstOfEquals) {
  const auto out = run(graph::max_pool2d_op(), graph::Pool2dAttributes{}.to_attributes(),
                       {{{1, 2, 4, 1}, {1, 2, 5, 5, 4, 3, 5, 5}}});
  expect_near(out[0], {4, 5});
  expect_near(out[1], {2, 0});
}

TEST(Reference, Activations) {
  const auto at = [](graph::Activation kind, double x) {
    return run(graph::activation_op(), graph::ActivationAttributes{kind}.to_attributes(), {{{1}, {x}}})[0][0];
  };
  EXPECT_EQ(at(graph::Activation::kRelu, -2), 0);
  EXPECT_EQ(at(graph::Activation::kRelu, 2), 2);
  // The normal distribution at 1 is 0.8413447460685429; PyTorch's gelu(1, approximate="tanh") is 0.8411919906082768.
  EXPECT_NEAR(at(graph::Activation::kGeluErf, 1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(at(graph::Activation::kGeluTanh, 1), 0.8411919906082768, 1e-15);
  EXPECT_EQ(at(graph::Activation::kLeakyRelu, 2), 2);
  EXPECT_EQ(at(graph::Activation::kLeakyRelu, -2), -0.02);
  EXPECT_EQ(at({graph::Activation::kLeakyRelu, 0.25}, -2), -0.5);
  EXPECT_NEAR(at(graph::Activation::kTanh, 1), 0.7615941559557649, 1e-15);
  EXPECT_NEAR(at(graph::Activation::kSigmoid, 1), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(at(graph::Activation::kSilu, -1), -0.2689414213699951, 1e-15);
}

TEST(Reference, Swiglu) {
  // sigmoid(1) is 0.7310585786300049 = s; the derivative of silu at 1 is s + s (1 - s).
  const double s = 0.7310585786300049;
  expect_near(run(graph::swiglu_op(), {}, {{{1}, {1}}, {{1}, {3}}})[0], {3 * s});
  const auto grad = run(graph::swiglu_grad_op(), {}, {{{1}, {2}}, {{1}, {1}}, {{1}, {3}}});
  expect_near(grad[0], {6 * (s + s * (1 - s))});
  expect_near(grad[1], {2 * s});
}

TEST(Reference, BroadcastArithmetic) {
  const Given column = {{2, 1}, {1, 2}}, row = {{3}, {10, 20, 40}};
  expect_near(run(graph::add_op(), {}, {column, row})[0], {11, 21, 41, 12, 22, 42});
  expect_near(run(graph::sub_op(), {}, {column, row})[0], {-9, -19, -39, -8, -18, -38});
  expect_near(run(graph::mul_op(), {}, {row, column})[0], {10, 20, 40, 20, 40, 80});
  expect_near(run(graph::div_op(), {}, {row, column})[0], {10, 20, 40, 5, 10, 20});
}

TEST(Reference, ReduceAndExpand) {
  const Given x = {{2, 1, 3}, {1, 2, 3, 4, 5, 6}};
  const auto sum = [&](std::int64_t first, std::int64_t count) {
    return run(graph::reduce_op(), graph::ReduceAttributes{first, count}.to_attributes(), {x})[0];
  };
  expect_near(sum(0, 1), {5, 7, 9});
  expect_near(sum(2, 1), {6, 15});
  expect_near(sum(0, 3), {21});
  expect_near(run(graph::expand_op(), graph::ExpandAttributes{{2, 2, 1}}.to_attributes(), {{{2, 1, 1}, {1, 2}}})[0],
              {1, 1, 2, 2});
}

TEST(Reference, ConcatAndSlice) {
  const Given a = {{2, 2}, {1, 2, 3, 4}}, b = {{2, 1}, {5, 6}};
  expect_near(run(graph::concat_op(), graph::ConcatAttributes{1}.to_attributes(), {a, b})[0], {1, 2, 5, 3, 4, 6});
  const graph::SliceAttributes last{1, 1, 1};
  expect_near(run(graph::slice_op(), last.to_attributes(), {a})[0], {2, 4});
  expect_near(run(graph::slice_grad_op(), graph::SliceGradAttributes{last, {2, 2}}.to_attributes(), {b})[0],
              {0, 5, 0, 6});
}

TEST(Reference, BatchNorm) {
  // Channel 0 is 1, 2, 3: mean 2, variance 2/3, unbiased 1. Channel 1 is 4, 4, 4: mean 4, variance 0.
  const std::vector<Given> given = {
      {{3, 2}, {1, 4, 2, 4, 3, 4}}, {{2}, {1, 5}}, {{2}, {10, 7}}, {{2}, {-1, 0}}, {{2}, {3, 2}}};
  const auto training = run(graph::batchnorm_op(), graph::BatchNormAttributes{0.5, 0.1}.to_attributes(), given);
  const double rstd = 1 / std::sqrt(2.0 / 3 + 0.5);
  expect_near(training[0], {10 - rstd, 7, 10, 7, 10 + rstd, 7});
  expect_near(training[1], {2, 4});
  expect_near(training[2], {rstd, std::sqrt(2.0)});
  expect_near(training[3], {0.9 * -1 + 0.1 * 2, 0.1 * 4});
  expect_near(training[4], {0.9 * 3 + 0.1 * 1, 0.9 * 2});
  // Evaluation: (x + 1) / sqrt(3 + 1) + 10 and 5 x / sqrt(2 + 1) + 7.
  graph::BatchNormAttributes attributes;
  attributes.eps = 1;
  attributes.evaluation = true;
  const double y = 20 / std::sqrt(3.0) + 7;
  expect_near(run(graph::batchnorm_op(), attributes.to_attributes(), given)[0], {11, y, 11.5, y, 12, y});
}

TEST(Reference, LayerNorm) {
  // Mean 2, variance 2/3 without eps: normalised -sqrt(3/2), 0, sqrt(3/2).
  const auto out = run(graph::layernorm_op(), graph::LayerNormAttributes{0, {}, false}.to_attributes(),
                       {{{1, 3}, {1, 2, 3}}, {{3}, {1, 1, 2}}, {{3}, {0, 5, 1}}});
  expect_near(out[0], {-std::sqrt(1.5), 5, 2 * std::sqrt(1.5) + 1});
  expect_near(out[1], {2});
  expect_near(out[2], {std::sqrt(1.5)});
}

TEST(Reference, RmsNorm) {
  // Mean square (1 + 4 + 4) / 3 = 3, and 1 of eps.
  const auto out = run(graph::rmsnorm_op(), graph::RmsNormAttributes{1, false}.to_attributes(),
                       {{{1, 3}, {1, -2, 2}}, {{3}, {1, 1, 3}}});
  expect_near(out[0], {0.5, -1, 3});
  expect_near(out[1], {0.5});
}

TEST(Reference, AttentionWithEqualScoresIsTheMeanOfWhatIsSeen) {
  // Queries of zero: every key weighs the same. Two heads of size 1 over three positions; qkv = q0 q1 k0 k1 v0 v1.
  const Given qkv = {{1, 3, 6}, {0, 0, 1, 2, 1, 10, 0, 0, 3, 4, 2, 20, 0, 0, 5, 6, 6, 60}};
  const auto full = run(graph::attention_op(), graph::AttentionAttributes{2, false}.to_attributes(), {qkv});
  expect_near(full[0], {3, 30, 3, 30, 3, 30});
  const auto causal = run(graph::attention_op(), graph::AttentionAttributes{2, true}.to_attributes(), {qkv});
  expect_near(causal[0], {1, 10, 1.5, 15, 3, 30});
  // log-sum-exp of i + 1 zeros, [batch, heads, sequence].
  expect_near(causal[1], {0, std::log(2), std::log(3), 0, std::log(2), std::log(3)});
}

TEST(Reference, AttentionScalesByTheRootOfTheHeadSize) {
  // One head of size 4, q = k = 1: scores 4 / sqrt(4) = 2 and, against k = 0, 0.
  Tensor qkv(24, 0.0);
  std::fill(qkv.begin(), qkv.begin() + 8, 1.0);        // position 0: q and k are ones
  std::fill(qkv.begin() + 12, qkv.begin() + 16, 1.0);  // position 1: q is ones
  std::fill(qkv.begin() + 8, qkv.begin() + 12, 1.0);   // value of position 0 is ones, of position 1 zeros
  const auto out =
      run(graph::attention_op(), graph::AttentionAttributes{1, false}.to_attributes(), {{{1, 2, 12}, qkv}});
  EXPECT_NEAR(out[0][0], std::exp(2.0) / (std::exp(2.0) + 1), 1e-14);
}

TEST(Reference, Losses) {
  const Given labels = {{2}, {0, 1}, DType::kI32};
  // Equal logits of two classes cost log 2; logits 0 and log 3 give 1/4 and 3/4.
  const Given logits = {{2, 2}, {7, 7, 0, std::log(3)}};
  const auto out = run(graph::cross_entropy_op(), graph::CrossEntropyAttributes{}.to_attributes(), {logits, labels});
  expect_near(out[0], {(std::log(2) + std::log(4.0 / 3)) / 2});
  expect_near(out[1], {7 + std::log(2), std::log(4)});
  const auto fused =
      run(graph::cross_entropy_op(), graph::CrossEntropyAttributes{true}.to_attributes(), {logits, labels, {{}, {2}}});
  expect_near(fused[1], {-0.5, 0.5, 0.25, -0.25});
  expect_near(run(graph::mse_op(), {}, {{{2}, {1, 5}}, {{2}, {2, 2}}})[0], {5});
  // A logit of log 3 says 3/4: label 1 costs log(4/3), label 0 log 4; the gradient is (3/4 - label) / elements.
  const Given binary = {{2}, {std::log(3), std::log(3)}}, answers = {{2}, {1, 0}};
  expect_near(run(graph::bce_with_logits_op(), {}, {binary, answers})[0], {(std::log(4.0 / 3) + std::log(4)) / 2});
  expect_near(run(graph::bce_with_logits_grad_op(), {}, {binary, answers, {{}, {2}}})[0], {-0.25, 0.75});
  expect_near(run(graph::count_correct_op(), {}, {{{3, 2}, {1, 1, 2, 1, 0, 3}}, {{3}, {0, 1, 1}, DType::kI32}})[0],
              {2});
}

TEST(Reference, EmbeddingAndItsGradient) {
  const Given ids = {{3}, {1, 1, 9}, DType::kI32};
  const auto out = run(graph::embedding_op(), {}, {{{2, 2}, {1, 2, 3, 4}}, ids})[0];
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[3], 4);
  EXPECT_TRUE(std::isnan(out[4]));
  expect_near(run(graph::embedding_grad_op(), graph::EmbeddingGradAttributes{2}.to_attributes(),
                  {{{2, 2}, {1, 2, 3, 4}}, {{2}, {1, 1}, DType::kI32}})[0],
              {0, 0, 4, 6});
}

TEST(Reference, DropoutKeepsTheMeanAndCountsGlobalElements) {
  const auto attributes = graph::DropoutAttributes{0.25, 3}.to_attributes();
  const Given whole = {{1000, 10}, Tensor(10000, 1.0)};
  const auto all = run(graph::dropout_op(), attributes, {whole, {{4}, {7, 1, 0, 0}, DType::kI64}})[0];
  double sum = 0;
  for (const double element : all) {
    EXPECT_TRUE(element == 0 || std::fabs(element - 4.0 / 3) < 1e-15);
    sum += element;
  }
  EXPECT_NEAR(sum / 10000, 1, 0.03);
  const auto tail =
      run(graph::dropout_op(), attributes, {{{10, 10}, Tensor(100, 1.0)}, {{4}, {7, 1, 5, 990}, DType::kI64}})[0];
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), all.begin() + 9900));
}

TEST(Reference, OptimizersByHand) {
  // First step of AdamW: m = 0.1 g, v = 0.001 g^2, both corrected to g and g^2: a step of lr * sign(g), after the
  // decay.
  graph::AdamWAttributes adamw;
  adamw.eps = 0;
  adamw.weight_decay = 0.5;
  adamw.decay_mask = {1};
  const Given hyper = {{4}, {0.1, 0.1, 0.001, 0}};
  const Given zero = {{2}, {0, 0}};
  auto out = run(graph::adamw_op(), adamw.to_attributes(), {hyper, {{2}, {1, 1}}, {{2}, {3, -4}}, zero, zero});
  expect_near(out[0], {0.95 - 0.1, 0.95 + 0.1});
  expect_near(out[1], {0.3, -0.4});
  expect_near(out[2], {0.009, 0.016});
  // Clipped at half the norm of 5 (to a relative 1e-6 / 5): the buffer is 0.9 * 10 + g / 2.
  graph::SgdAttributes sgd;
  sgd.momentum = 0.9;
  sgd.clip = 2.5;
  sgd.decay_mask = {0};
  out = run(graph::sgd_op(), sgd.to_attributes(), {hyper, {{}, {5}}, {{2}, {1, 1}}, {{2}, {3, -4}}, {{2}, {10, 10}}});
  expect_near(out[1], {10.5, 7}, 1e-5);
  expect_near(out[0], {1 - 1.05, 1 - 0.7}, 1e-6);
  expect_near(
      run(graph::grad_norm_op(), graph::GradNormAttributes{0.5}.to_attributes(), {{{2}, {3, 0}}, {{1}, {-4}}})[0],
      {2.5});
}

TEST(Reference, MissingAndMisshapenValuesAreNamed) {
  graph::Graph graph;
  const graph::ValueId x = graph.add_input("x", {DType::kF32, {3}});
  graph::activation(graph, x, graph::Activation::kRelu);
  for (const std::map<std::string, Tensor>& given :
       {std::map<std::string, Tensor>{}, std::map<std::string, Tensor>{{"x", {1, 2}}}}) {
    try {
      reference::evaluate(graph, given);
      FAIL();
    } catch (const InternalError& error) {
      EXPECT_NE(std::string(error.what()).find("'x'"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace headway::ops_test
