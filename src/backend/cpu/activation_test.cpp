#include "graph/ops/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/kernel_harness.h"
#include "backend/reference/functions.h"

namespace headway::backend::testing {
namespace {

using graph::Activation;

// Every kind, none too; a slope that is not the default.
std::vector<Activation> all_kinds() {
  std::vector<Activation> kinds = {Activation::kNone, {Activation::kLeakyRelu, 0.3}};
  kinds.insert(kinds.end(), graph::kActivations.begin(), graph::kActivations.end());
  return kinds;
}
const std::vector<Activation> kKinds = all_kinds();
const std::vector<Shape> kShapes = {Shape{1},  Shape{0},       Shape{3, 0},  Shape{0, 5}, Shape{7},       Shape{5, 17},
                                    Shape{64}, Shape{3, 5, 7}, Shape{2, 16}, Shape{130},  Shape{33, 1000}};

TEST(ActivationKernel, AgreesWithTheReference) {
  for (const Activation kind : kKinds) {
    for (const Shape& shape : kShapes) {
      const Case test{graph::activation_op(),
                      graph::ActivationAttributes{kind}.to_attributes(),
                      {f32(shape)},
                      {Draw(1).normal(shape.elements(), 3)},
                      10};
      EXPECT_EQ(report_of(test), "");
    }
  }
}

TEST(ActivationKernel, GradientAgreesWithTheReference) {
  for (const Activation kind : kKinds) {
    for (const bool bias_grad : {false, true}) {
      for (const Shape& shape : kShapes) {
        Draw draw(2);
        Case test{graph::activation_grad_op(),
                  graph::ActivationGradAttributes{kind, bias_grad}.to_attributes(),
                  {f32(shape), f32(shape)},
                  {draw.normal(shape.elements()), draw.normal(shape.elements(), 3)},
                  bias_grad ? 10.0 : 3.0};
        for (double& saved : test.inputs[1]) {
          if (graph::gradient_uses_output(kind)) saved = static_cast<float>(reference::activate(kind, saved));
        }
        EXPECT_EQ(report_of(test), "");
      }
    }
  }
}

// Large values, infinities and NaN: what PyTorch gives.
TEST(ActivationKernel, TakesSpecialValues) {
  constexpr double kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = {kInfinity, kNan, 0, 1e30, -1e30, 3e38, -3e38, 1e-40, -1e-40, 100, -100};
  const auto run = [&](Activation kind, const Tensor& values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return outputs_of(
        {graph::activation_op(), graph::ActivationAttributes{kind}.to_attributes(), {f32(shape)}, {values}})[0];
  };
  for (const Activation kind : {Activation::kRelu, Activation::kGeluErf, Activation::kGeluTanh}) {
    const Tensor y = run(kind, x);
    EXPECT_EQ(y[0], kInfinity);
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(y[3], static_cast<float>(1e30));
    EXPECT_EQ(y[4], 0);
    EXPECT_EQ(y[5], static_cast<float>(3e38));
    EXPECT_EQ(y[6], 0);
    EXPECT_EQ(y[9], 100);
    EXPECT_EQ(y[10], 0);
  }
}

TEST(ActivationKernel, BoundedKindsSaturate) {
  constexpr double kInfinity = std::numeric_limits<float>::infinity();
  const Tensor x = {kInfinity, -kInfinity, 3e38, -3e38, 0, std::numeric_limits<float>::quiet_NaN()};
  const auto run = [&](Activation kind) {
    return outputs_of({graph::activation_op(), graph::ActivationAttributes{kind}.to_attributes(), {f32({6})}, {x}})[0];
  };
  const Tensor tanh = run(Activation::kTanh), sigmoid = run(Activation::kSigmoid), silu = run(Activation::kSilu);
  const Tensor leaky = run({Activation::kLeakyRelu, 0.5});
  for (const std::size_t i : {0, 1, 2, 3}) {
    const double sign = x[i] > 0 ? 1 : -1;
    EXPECT_NEAR(tanh[i], sign, 5e-7);
    EXPECT_EQ(sigmoid[i], sign > 0 ? 1 : 0);
    EXPECT_EQ(leaky[i], static_cast<float>(sign > 0 ? x[i] : 0.5 * x[i]));
  }
  EXPECT_EQ(silu[0], kInfinity);
  EXPECT_TRUE(std::isnan(silu[1]));  // -infinity times 0, as in PyTorch
  EXPECT_EQ(silu[2], static_cast<float>(3e38));
  EXPECT_EQ(silu[3], 0);
  EXPECT_EQ(sigmoid[4], 0.5);
  for (const Tensor* y : {&tanh, &sigmoid, &silu, &leaky}) EXPECT_TRUE(std::isnan((*y)[5]));
}

TEST(ActivationKernel, GradientAtSpecialValues) {
  constexpr double kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Activation kind : {Activation::kRelu, Activation::kGeluErf, Activation::kGeluTanh}) {
    const Case test{graph::activation_grad_op(),
                    graph::ActivationGradAttributes{kind, false}.to_attributes(),
                    {f32({6}), f32({6})},
                    {{2, 2, 2, 2, 2, kNan}, {1000, -1000, 1e15, -1e15, kNan, 1}}};
    const Tensor dx = outputs_of(test)[0];
    EXPECT_EQ(dx[0], 2);
    EXPECT_NEAR(dx[1], 0, 1e-20);
    EXPECT_EQ(dx[2], 2);
    EXPECT_NEAR(dx[3], 0, 1e-20);
    EXPECT_EQ(std::isnan(dx[4]), kind != Activation::kRelu);
    EXPECT_TRUE(std::isnan(dx[5]));
  }
}

TEST(BiasActivationRows, WorksInsideALargerMatrix) {
  constexpr std::int64_t kRows = 5, kStride = 40, kPreStride = 37;
  for (const Activation kind : kKinds) {
    for (const std::int64_t columns : {std::int64_t{0}, std::int64_t{1}, std::int64_t{16}, std::int64_t{29}}) {
      for (const bool with_bias : {false, true}) {
        for (const bool with_pre : {false, true}) {
          Draw draw(3);
          const Tensor given = draw.normal(kRows * kStride), shift = draw.normal(columns);
          std::vector<float> y(given.begin(), given.end()), bias(shift.begin(), shift.end());
          std::vector<float> pre(kRows * kPreStride, -7.0F);
          bias_activation_rows(kind, with_bias ? bias.data() : nullptr, y.data(), kStride,
                               with_pre ? pre.data() : nullptr, kPreStride, kRows, columns);
          for (std::int64_t i = 0; i < kRows * kStride; ++i) {
            const auto at = static_cast<std::size_t>(i), column = static_cast<std::size_t>(i % kStride);
            const auto pre_at = static_cast<std::size_t>(i / kStride * kPreStride + i % kStride);
            if (i % kStride >= columns) {
              EXPECT_EQ(y[at], static_cast<float>(given[at]));
              if (i % kStride < kPreStride) {
                EXPECT_EQ(pre[pre_at], -7.0F);
              }
              continue;
            }
            const float before = static_cast<float>(given[at]) + (with_bias ? bias[column] : 0.0F);
            EXPECT_NEAR(y[at], reference::activate(kind, before), 2e-6);
            EXPECT_EQ(pre[pre_at], with_pre ? before : -7.0F);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace headway::backend::testing
