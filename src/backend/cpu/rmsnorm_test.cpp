#include "graph/ops/rmsnorm.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

const std::vector<Shape> kShapes = {Shape{1, 5},      Shape{0, 8},  Shape{7},       Shape{3, 16},  Shape{6, 1},
                                    Shape{2, 3, 130}, Shape{9, 33}, Shape{301, 64}, Shape{5, 1027}};

Case forward(const Shape& shape, bool residual) {
  Draw draw(1);
  Case test{graph::rmsnorm_op(),
            graph::RmsNormAttributes{1e-5, residual}.to_attributes(),
            {f32(shape), f32({shape[-1]})},
            {draw.normal(shape.elements(), 2), draw.normal(shape[-1])},
            8};
  if (residual) {
    test.types.push_back(f32(shape));
    test.inputs.push_back(draw.normal(shape.elements()));
  }
  return test;
}

TEST(RmsNormKernel, AgreesWithTheReference) {
  for (const Shape& shape : kShapes) {
    for (const bool residual : {false, true}) EXPECT_EQ(report_of(forward(shape, residual)), "");
  }
}

TEST(RmsNormKernel, ARowOfZerosStaysZero) {
  Case test = forward(Shape{2, 40}, false);
  for (double& x : test.inputs[0]) x = 0;
  EXPECT_EQ(report_of(test), "");
}

TEST(RmsNormKernel, GradientAgreesWithTheReference) {
  for (const Shape& shape : kShapes) {
    for (const bool extra : {false, true}) {
      const Case given = forward(shape, false);
      const std::vector<Tensor> normed = outputs_of(given);
      const Shape rows(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
      Draw draw(2);
      // Sums over up to 301 rows; of a row of one element dx is a difference near 0.
      Case test{graph::rmsnorm_grad_op(),
                graph::RmsNormGradAttributes{extra}.to_attributes(),
                {f32(shape), f32(shape), f32(rows), f32({shape[-1]})},
                {draw.normal(shape.elements()), given.inputs[0], normed[1], given.inputs[1]},
                20.0};
      if (extra) {
        test.types.push_back(f32(shape));
        test.inputs.push_back(draw.normal(shape.elements()));
      }
      EXPECT_EQ(report_of(test), "");
    }
  }
}

}  // namespace
}  // namespace headway::backend::testing
