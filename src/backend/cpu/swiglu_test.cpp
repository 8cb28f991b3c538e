#include "graph/ops/swiglu.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

TEST(SwigluKernel, AgreesWithTheReference) {
  for (const Shape& shape : {Shape{1}, Shape{0, 3}, Shape{3, 5, 7}, Shape{64}, Shape{100003}}) {
    Draw draw(1);
    const Tensor gate = draw.normal(shape.elements(), 3), up = draw.normal(shape.elements());
    const Tensor dy = draw.normal(shape.elements());
    EXPECT_EQ(report_of({graph::swiglu_op(), {}, {f32(shape), f32(shape)}, {gate, up}, 8}), "");
    EXPECT_EQ(report_of({graph::swiglu_grad_op(), {}, {f32(shape), f32(shape), f32(shape)}, {dy, gate, up}, 8}), "");
  }
}

TEST(SwigluKernel, TakesGatesFarOut) {
  const Tensor gate = {-1e4, -200, -90, -81, -20, 0, 20, 90, 1e4}, up(9, 2.0), dy(9, 0.5);
  const Shape shape{9};
  EXPECT_EQ(report_of({graph::swiglu_op(), {}, {f32(shape), f32(shape)}, {gate, up}}), "");
  EXPECT_EQ(report_of({graph::swiglu_grad_op(), {}, {f32(shape), f32(shape), f32(shape)}, {dy, gate, up}}), "");
}

}  // namespace
}  // namespace headway::backend::testing
