#include "graph/ops/batchnorm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/kernel_harness.h"
#include "backend/reference/functions.h"

namespace headway::backend::testing {
namespace {

using graph::Activation;

// One channel, odd ones, whole vectors, wide ones; a row of columns that ends early; several tiles.
const std::vector<Shape> kShapes = {Shape{2, 1},    Shape{7, 3}, Shape{3, 2, 5, 16}, Shape{9, 33},    Shape{5, 64},
                                    Shape{3, 1027}, Shape{4, 0}, Shape{65, 48},      Shape{20003, 5}, Shape{2999, 64}};

Case forward(const Shape& shape, const graph::BatchNormAttributes& attributes, double offset = 0.5) {
  Draw draw(1);
  const Shape c{shape[-1]};
  Case test{graph::batchnorm_op(), attributes.to_attributes(), {f32(shape), f32(c), f32(c), f32(c), f32(c)}, {}, 8};
  test.inputs = {draw.normal(shape.elements(), 2)};
  for (int operand = 0; operand < 4; ++operand) test.inputs.push_back(draw.normal(shape[-1]));
  for (double& x : test.inputs[0]) x = static_cast<float>(x + offset);
  for (double& variance : test.inputs[4]) variance = static_cast<float>(0.1 + variance * variance);
  return test;
}

TEST(BatchNormKernel, AgreesWithTheReference) {
  for (const Shape& shape : kShapes) {
    for (const Activation kind : {Activation(), Activation(Activation::kRelu), Activation(Activation::kGeluTanh)}) {
      for (const bool evaluation : {false, true})
        EXPECT_EQ(report_of(forward(shape, {1e-5, 0.1, kind, evaluation})), "");
    }
  }
  EXPECT_EQ(report_of(forward({0, 3}, {1e-5, 0.1, {}, true})), "");
}

// A large offset costs the digits that f32 lost in x, and no more.
TEST(BatchNormKernel, TakesALargeOffset) {
  Case test = forward({4099, 7}, {}, 1000);
  test.magnitude = 100;  // the mean is rounded to 3e-5
  EXPECT_EQ(report_of(test), "");
}

// A first row unlike all others is what the sums of its tile are shifted by: the worst case for their digits.
TEST(BatchNormKernel, TakesAnOutlierAsFirstRow) {
  Case test = forward({4099, 7}, {});
  for (std::size_t i = 0; i < 7; ++i) test.inputs[0][i] = 100;
  test.magnitude = 40;  // of the running variance
  EXPECT_EQ(report_of(test), "");
}

TEST(BatchNormKernel, EqualValuesGiveBeta) {
  Case test = forward({40, 5}, {});
  for (double& x : test.inputs[0]) x = 3;
  EXPECT_EQ(report_of(test), "");
  EXPECT_EQ(outputs_of(test)[0][3], test.inputs[2][3]);
}

// NaN in one channel stays there.
TEST(BatchNormKernel, ANanSpoilsItsChannelOnly) {
  Case test = forward({50, 3}, {});
  test.inputs[0][4] = NAN;
  const Tensor y = outputs_of(test)[0];
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_FALSE(std::isnan(y[0]));
  EXPECT_FALSE(std::isnan(y[2]));
}

Case backward(const Shape& shape, const graph::BatchNormGradAttributes& attributes) {
  Case given = forward(shape, {});
  if (attributes.before != Activation::kNone) {
    for (double& x : given.inputs[0]) x = static_cast<float>(reference::activate(attributes.before, x));
  }
  const std::vector<Tensor> normed = outputs_of(given);
  const Shape c{shape[-1]};
  return {graph::batchnorm_grad_op(),
          attributes.to_attributes(),
          {f32(shape), f32(shape), f32(c), f32(c), f32(c), f32(c)},
          {Draw(2).normal(shape.elements()), given.inputs[0], normed[1], normed[2], given.inputs[1], given.inputs[2]},
          // Sums over up to 20,000 rows of size 100.
          shape.rows() > 1000 ? 300.0 : 30.0};
}

TEST(BatchNormKernel, GradientAgreesWithTheReference) {
  for (const Shape& shape : kShapes) {
    for (const graph::BatchNormGradAttributes& attributes : {graph::BatchNormGradAttributes{},
                                                             {Activation::kGeluErf, {}},
                                                             {{}, Activation::kTanh},
                                                             {{}, {Activation::kLeakyRelu, 0.3}}}) {
      EXPECT_EQ(report_of(backward(shape, attributes)), "");
    }
  }
}

}  // namespace
}  // namespace headway::backend::testing
