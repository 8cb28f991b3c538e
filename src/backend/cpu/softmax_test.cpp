#include "graph/ops/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

const std::vector<Shape> kShapes = {Shape{1},     Shape{0, 8},      Shape{7, 1},   Shape{3, 10},
                                    Shape{4, 64}, Shape{2, 3, 257}, Shape{100, 31}};

TEST(SoftmaxKernel, AgreesWithTheReference) {
  for (const double scale : {1.0, 20.0, 1e4}) {
    for (const Shape& shape : kShapes) {
      const Case test{graph::softmax_op(), {}, {f32(shape)}, {Draw(1).normal(shape.elements(), scale)}};
      EXPECT_EQ(report_of(test), "");
    }
  }
}

TEST(SoftmaxKernel, GradientAgreesWithTheReference) {
  for (const Shape& shape : kShapes) {
    Draw draw(2);
    const Tensor y = outputs_of({graph::softmax_op(), {}, {f32(shape)}, {draw.normal(shape.elements())}})[0];
    const Case test{graph::softmax_grad_op(), {}, {f32(shape), f32(shape)}, {draw.normal(shape.elements()), y}};
    EXPECT_EQ(report_of(test), "");
  }
}

TEST(SoftmaxKernel, TakesSpecialValues) {
  constexpr double kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor y =
      outputs_of({graph::softmax_op(),
                  {},
                  {f32({4, 3})},
                  {{-kInfinity, 0, 0, kNan, 1, 2, kInfinity, 1, 2, -kInfinity, -kInfinity, -kInfinity}}})[0];
  EXPECT_EQ(Tensor(y.begin(), y.begin() + 3), (Tensor{0, 0.5, 0.5}));
  for (std::size_t i = 3; i < 12; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;  // as PyTorch
}

}  // namespace
}  // namespace headway::backend::testing
