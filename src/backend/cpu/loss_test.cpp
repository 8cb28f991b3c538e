#include "graph/ops/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

struct Logits {
  Shape rows;
  std::int64_t classes;

  Shape shape() const {
    std::vector<std::int64_t> dims = rows.dims();
    dims.push_back(classes);
    return Shape(std::move(dims));
  }
};

const std::vector<Logits> kLogits = {{{1}, 1},    {{3}, 2},        {{128}, 10}, {{2, 5}, 256},
                                     {{7}, 1001}, {{2, 3, 4}, 33}, {{600}, 65}, {{}, 12}};

Case cross_entropy(const Logits& logits, bool with_grad, double scale) {
  Draw draw(1);
  Case test{graph::cross_entropy_op(),
            graph::CrossEntropyAttributes{with_grad}.to_attributes(),
            {f32(logits.shape()), i32(logits.rows)},
            {draw.normal(logits.shape().elements(), scale), draw.whole(logits.rows.elements(), 0, logits.classes)},
            scale};
  if (with_grad) {
    test.types.push_back(f32({}));
    test.inputs.push_back({0.75});
  }
  return test;
}

TEST(CrossEntropyKernel, AgreesWithTheReference) {
  for (const Logits& logits : kLogits) {
    for (const double scale : {1.0, 30.0}) {
      for (const bool with_grad : {false, true}) {
        EXPECT_EQ(report_of(cross_entropy(logits, with_grad, scale)), "");
      }
    }
  }
}

TEST(CrossEntropyKernel, GradientAgreesWithTheReference) {
  for (const Logits& logits : kLogits) {
    const Case forward = cross_entropy(logits, false, 3);
    const Case test{graph::cross_entropy_grad_op(),
                    {},
                    {forward.types[0], forward.types[1], f32(logits.rows), f32({})},
                    {forward.inputs[0], forward.inputs[1], outputs_of(forward)[1], {2}},
                    3};
    EXPECT_EQ(report_of(test), "");
  }
}

TEST(CrossEntropyKernel, UnknownLabelsMakeTheLossNan) {
  for (const double label : {-1.0, 10.0, -2147483648.0, 2147483647.0}) {
    for (const bool with_grad : {false, true}) {
      Case test = cross_entropy({{128}, 10}, with_grad, 1);
      test.inputs[1][77] = label;
      EXPECT_TRUE(std::isnan(outputs_of(test)[0][0]));
      EXPECT_EQ(report_of(test), "");
    }
  }
}

TEST(CrossEntropyKernel, NoRowsGiveNan) {
  for (const bool with_grad : {false, true}) {
    EXPECT_TRUE(std::isnan(outputs_of(cross_entropy({{0}, 10}, with_grad, 1))[0][0]));
  }
}

TEST(MseKernel, AgreesWithTheReference) {
  for (const Shape& shape : {Shape{1}, Shape{4096, 1}, Shape{3, 5, 7}, Shape{100003}}) {
    Draw draw(2);
    const Tensor x = draw.normal(shape.elements(), 2), target = draw.normal(shape.elements());
    EXPECT_EQ(report_of({graph::mse_op(), {}, {f32(shape), f32(shape)}, {x, target}}), "");
    EXPECT_EQ(report_of({graph::mse_grad_op(), {}, {f32(shape), f32(shape), f32({})}, {x, target, {1.5}}}), "");
  }
}

TEST(MseKernel, NoElementsGiveNan) {
  EXPECT_TRUE(std::isnan(outputs_of({graph::mse_op(), {}, {f32({0, 3}), f32({0, 3})}, {{}, {}}})[0][0]));
  EXPECT_EQ(report_of({graph::mse_grad_op(), {}, {f32({0}), f32({0}), f32({})}, {{}, {}, {1}}}), "");
}

TEST(BceWithLogitsKernel, AgreesWithTheReference) {
  for (const Shape& shape : {Shape{1}, Shape{4096, 1}, Shape{3, 5, 7}, Shape{100003}}) {
    for (const double scale : {1.0, 30.0}) {
      Draw draw(4);
      const Tensor x = draw.normal(shape.elements(), scale), target = draw.whole(shape.elements(), 0, 2);
      EXPECT_EQ(report_of({graph::bce_with_logits_op(), {}, {f32(shape), f32(shape)}, {x, target}}), "");
      const std::vector<graph::TensorType> types = {f32(shape), f32(shape), f32({})};
      EXPECT_EQ(report_of({graph::bce_with_logits_grad_op(), {}, types, {x, target, {1.5}}}), "");
    }
  }
}

// The loss of a confident right answer is exp(-logit), not 0: nothing is lost beside 1.
TEST(BceWithLogitsKernel, KeepsSmallLosses) {
  for (const double logit : {1.0, 5.0, 20.0, 60.0}) {
    EXPECT_EQ(report_of({graph::bce_with_logits_op(), {}, {f32({1}), f32({1})}, {{-logit}, {0}}, 1e-20}), "");
  }
}

TEST(BceWithLogitsKernel, NoElementsAndNanGiveNan) {
  const auto loss = [](const Tensor& x, const Tensor& target) {
    const Shape shape{static_cast<std::int64_t>(x.size())};
    return outputs_of({graph::bce_with_logits_op(), {}, {f32(shape), f32(shape)}, {x, target}})[0][0];
  };
  EXPECT_TRUE(std::isnan(loss({}, {})));
  EXPECT_TRUE(std::isnan(loss({1, std::numeric_limits<double>::quiet_NaN()}, {0, 1})));
}

TEST(CountCorrectKernel, AgreesWithTheReference) {
  for (const Logits& logits : kLogits) {
    Draw draw(3);
    // Few different values, so that equal largest ones are frequent.
    const Tensor x = draw.whole(logits.shape().elements(), 0, 4);
    const Tensor labels = draw.whole(logits.rows.elements(), -1, std::min<std::int64_t>(logits.classes, 5));
    EXPECT_EQ(report_of({graph::count_correct_op(), {}, {f32(logits.shape()), i32(logits.rows)}, {x, labels}}), "");
  }
}

TEST(CountCorrectKernel, TakesSpecialValues) {
  constexpr double kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const auto count = [](const Tensor& logits, double label) {
    const auto classes = static_cast<std::int64_t>(logits.size());
    return outputs_of({graph::count_correct_op(), {}, {f32({1, classes}), i32({1})}, {logits, {label}}})[0][0];
  };
  EXPECT_EQ(count({-kInfinity, -kInfinity, -kInfinity}, 0), 1);
  EXPECT_EQ(count({-kInfinity, -kInfinity, -kInfinity}, 1), 0);
  EXPECT_EQ(count({1, kInfinity, 2}, 1), 1);
  EXPECT_EQ(count({1, kNan, 2}, 2), 0);
  EXPECT_EQ(count({1, kNan, 2}, 1), 0);
  EXPECT_EQ(count({1, 2}, 2), 0);
}

}  // namespace
}  // namespace headway::backend::testing
