// Average pooling and its gradient against the fp64 reference: overlapping windows, gaps, rows and columns left over.
#include <gtest/gtest.h>

#include "backend/cpu/op_check.h"
#include "graph/ops/avg_pool.h"

namespace headway::backend {
namespace {

using namespace op_check;

TEST(AvgPool2d, RandomSizes) {
  Draw draw(1);
  for (int round = 0; round < 60; ++round) {
    graph::Pool2dAttributes pool{{1 + draw.below(4), 1 + draw.below(3)}, {1 + draw.below(3), 1 + draw.below(4)}};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      pool.padding[axis] = graph::Padding(draw.below(pool.kernel[axis]), draw.below(pool.kernel[axis]));
    }
    const Shape x{draw.one_of({0, 1, 3, 9}), pool.kernel[0] + draw.below(9), pool.kernel[1] + draw.below(9),
                  draw.one_of({1, 3, 16, 17, 40})};
    EXPECT_EQ(failures_of({graph::avg_pool2d_op(), pool.to_attributes(), {f32(x)}, {draw.normal(x)}, 2e-6}), "");

    const Shape y = graph::avg_pool2d_op().infer(pool.to_attributes(), std::vector{f32(x)})[0].shape;
    const graph::Pool2dGradAttributes attributes{pool, x.dims()};
    EXPECT_EQ(failures_of({graph::avg_pool2d_grad_op(), attributes.to_attributes(), {f32(y)}, {draw.normal(y)}, 2e-6}),
              "");
  }
}

TEST(AvgPool2d, AWindowOfTheWholeImage) {
  Draw draw(2);
  const graph::Pool2dAttributes pool{{31, 22}, {1, 1}};
  const Shape x{2, 31, 22, 17};
  EXPECT_EQ(failures_of({graph::avg_pool2d_op(), pool.to_attributes(), {f32(x)}, {draw.normal(x)}, 2e-6}), "");
}

TEST(AvgPool2d, AWrongElementIsFound) {
  Draw draw(3);
  const Shape x{2, 8, 8, 5};
  const Problem problem{
      graph::avg_pool2d_op(), graph::Pool2dAttributes{}.to_attributes(), {f32(x)}, {draw.normal(x)}, 2e-6};
  EXPECT_NE(failures_of(problem, [](auto& outputs) { outputs[0][79] ^= std::byte{1}; }), "");
}

}  // namespace
}  // namespace headway::backend
