// Max-pooling and its gradient against the fp64 reference: overlapping windows, rows and columns left over, equal
// values.
#include <gtest/gtest.h>

#include <limits>

#include "backend/cpu/op_check.h"
#include "graph/ops/pool.h"

namespace headway::backend {
namespace {

using namespace op_check;

TEST(MaxPool2d, RandomSizes) {
  Draw draw(1);
  for (int round = 0; round < 60; ++round) {
    graph::Pool2dAttributes pool{{1 + draw.below(3), 1 + draw.below(3)}, {1 + draw.below(3), 1 + draw.below(3)}};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      pool.padding[axis] = graph::Padding(draw.below(pool.kernel[axis]), draw.below(pool.kernel[axis]));
    }
    const Shape x{draw.one_of({0, 1, 3, 9}), pool.kernel[0] + draw.below(9), pool.kernel[1] + draw.below(9),
                  draw.one_of({1, 3, 16, 17, 40})};
    EXPECT_EQ(failures_of({graph::max_pool2d_op(), pool.to_attributes(), {f32(x)}, {draw.normal(x)}, 1e-6}), "");

    const Shape y = graph::max_pool2d_op().infer(pool.to_attributes(), std::vector{f32(x)})[0].shape;
    Tensor positions(static_cast<std::size_t>(y.elements()));
    for (double& position : positions) position = static_cast<double>(draw.below(pool.kernel[0] * pool.kernel[1]));
    EXPECT_EQ(failures_of({graph::max_pool2d_grad_op(),
                           graph::Pool2dGradAttributes{pool, x.dims()}.to_attributes(),
                           {f32(y), {DType::kU8, y}},
                           {draw.normal(y), positions},
                           1e-5}),
              "");
  }
}

TEST(MaxPool2d, TheFirstOfEqualValues) {
  Draw draw(2);
  const Shape x{2, 6, 6, 19};
  Tensor values(static_cast<std::size_t>(x.elements()));
  for (double& value : values) value = static_cast<double>(draw.below(2));
  EXPECT_EQ(failures_of({graph::max_pool2d_op(), graph::Pool2dAttributes{}.to_attributes(), {f32(x)}, {values}, 0}),
            "");
}

TEST(MaxPool2d, AWindowOf256Positions) {
  Draw draw(3);
  const graph::Pool2dAttributes pool{{16, 16}, {5, 5}};
  const Shape x{1, 31, 22, 17};
  EXPECT_EQ(failures_of({graph::max_pool2d_op(), pool.to_attributes(), {f32(x)}, {draw.normal(x)}, 1e-6}), "");
}

TEST(MaxPool2d, AWrongPositionIsFound) {
  Draw draw(4);
  const Shape x{2, 8, 8, 5};
  const Problem problem{
      graph::max_pool2d_op(), graph::Pool2dAttributes{}.to_attributes(), {f32(x)}, {draw.normal(x)}, 1e-6};
  EXPECT_NE(failures_of(problem, [](auto& outputs) { outputs[1][77] ^= std::byte{1}; }), "");
}

}  // namespace
}  // namespace headway::backend
