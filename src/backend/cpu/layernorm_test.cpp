#include "graph/ops/layernorm.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

using graph::Activation;

constexpr std::array kKinds = {Activation::kNone,     Activation::kRelu, Activation::kLeakyRelu, Activation::kGeluErf,
                               Activation::kGeluTanh, Activation::kSilu, Activation::kTanh,      Activation::kSigmoid};
const std::vector<Shape> kShapes = {Shape{1, 5},      Shape{0, 8},  Shape{7},       Shape{3, 16},  Shape{6, 1},
                                    Shape{2, 3, 130}, Shape{9, 33}, Shape{301, 64}, Shape{5, 1027}};

Shape rows_shape(const Shape& shape) {
  return Shape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
}

// x around `offset`, with a spread of 2.
Case forward(const Shape& shape, graph::LayerNormAttributes attributes, double offset = 0.5) {
  Draw draw(1);
  const Shape n{shape[-1]};
  Case test{graph::layernorm_op(), attributes.to_attributes(), {f32(shape), f32(n), f32(n)}, {}, 8};
  test.inputs = {draw.normal(shape.elements(), 2), draw.normal(shape[-1]), draw.normal(shape[-1])};
  for (double& x : test.inputs[0]) x = static_cast<float>(x + offset);
  if (attributes.residual) {
    test.types.push_back(f32(shape));
    test.inputs.push_back(draw.normal(shape.elements()));
  }
  return test;
}

TEST(LayerNormKernel, AgreesWithTheReference) {
  for (const Shape& shape : kShapes) {
    for (const Activation kind : kKinds) {
      for (const bool residual : {false, true}) EXPECT_EQ(report_of(forward(shape, {1e-5, kind, residual})), "");
    }
  }
}

// The variance is of differences from the mean: a large offset costs the digits that f32 lost in x, and no more.
TEST(LayerNormKernel, TakesALargeOffset) {
  Case test = forward(Shape{4, 256}, {1e-5, Activation::kNone, false}, 1000);
  test.magnitude = 100;  // the mean is rounded to 3e-5
  EXPECT_EQ(report_of(test), "");
}

TEST(LayerNormKernel, ARowOfEqualValuesGivesBeta) {
  Case test = forward(Shape{2, 40}, {1e-5, Activation::kNone, false});
  for (double& x : test.inputs[0]) x = 3;
  EXPECT_EQ(report_of(test), "");
}

TEST(LayerNormKernel, GradientAgreesWithTheReference) {
  for (const Shape& shape : kShapes) {
    for (const Activation kind : kKinds) {
      for (const bool extra : {false, true}) {
        const std::vector<Tensor> normed = outputs_of(forward(shape, {1e-5, Activation::kNone, false}));
        const Case given = forward(shape, {1e-5, Activation::kNone, false});
        const Shape n{shape[-1]}, rows = rows_shape(shape);
        Draw draw(2);
        Case test{
            graph::layernorm_grad_op(),
            graph::LayerNormGradAttributes{kind, extra}.to_attributes(),
            {f32(shape), f32(shape), f32(rows), f32(rows), f32(n), f32(n)},
            {draw.normal(shape.elements()), given.inputs[0], normed[1], normed[2], given.inputs[1], given.inputs[2]},
            // Sums over up to 301 rows; a row of one element has rstd 300, and its dx is a difference near 0.
            shape[-1] == 1 ? 1000.0 : 20.0};
        if (extra) {
          test.types.push_back(f32(shape));
          test.inputs.push_back(draw.normal(shape.elements()));
        }
        EXPECT_EQ(report_of(test), "");
      }
    }
  }
}

}  // namespace
}  // namespace headway::backend::testing
