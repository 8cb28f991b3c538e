// conv2d and its gradients against the fp64 reference: strides, paddings, dilations, odd channels, batches in tiles.
#include <gtest/gtest.h>

#include "backend/cpu/op_check.h"
#include "graph/ops/conv2d.h"

namespace headway::backend {
namespace {

using namespace op_check;
using graph::Conv2dAttributes;

struct Sizes {
  Shape x, w;
  Conv2dAttributes conv;
  bool bias = true;
};

void check_all(Draw& draw, const Sizes& s) {
  std::vector<graph::TensorType> types = {f32(s.x), f32(s.w)};
  std::vector<Tensor> inputs = {draw.normal(s.x), draw.normal(s.w)};
  if (s.bias) {
    types.push_back(f32(Shape{s.w[0]}));
    inputs.push_back(draw.normal(Shape{s.w[0]}));
  }
  const std::int64_t window = s.w[2] * s.w[3];
  const Shape y = graph::conv2d_op().infer(s.conv.to_attributes(), types)[0].shape;
  EXPECT_EQ(failures_of({graph::conv2d_op(), s.conv.to_attributes(), types, inputs, tolerance_of_sum(window * s.w[1])}),
            "");
  const Tensor dy = draw.normal(y);
  const Conv2dAttributes plain{s.conv.stride, s.conv.padding, s.conv.dilation, {}};
  EXPECT_EQ(failures_of({graph::conv2d_grad_input_op(),
                         graph::Conv2dGradInputAttributes{plain, s.x.dims()}.to_attributes(),
                         {f32(y), f32(s.w)},
                         {dy, inputs[1]},
                         tolerance_of_sum(window * s.w[0])}),
            "");
  EXPECT_EQ(failures_of({graph::conv2d_grad_weight_op(),
                         graph::Conv2dGradWeightAttributes{plain, {s.w[2], s.w[3]}, s.bias}.to_attributes(),
                         {f32(y), f32(s.x)},
                         {dy, inputs[0]},
                         tolerance_of_sum(y.rows())}),
            "");
}

TEST(Conv2d, RandomSizes) {
  Draw draw(1);
  for (int round = 0; round < 60; ++round) {
    Sizes s;
    s.conv.stride = {draw.one_of({1, 1, 2, 3}), draw.one_of({1, 1, 2})};
    s.conv.padding = {graph::Padding(draw.below(3), draw.below(3)), graph::Padding(draw.below(4), draw.below(2))};
    s.conv.dilation = {draw.one_of({1, 1, 2}), draw.one_of({1, 1, 2})};
    if (draw.below(2) == 1) s.conv.activation = graph::kActivations[static_cast<std::size_t>(draw.below(7))];
    s.bias = draw.below(2) == 1;
    s.w = {draw.one_of({1, 2, 5, 16, 33}), draw.one_of({1, 2, 3, 16, 17, 32}), 1 + draw.below(4), 1 + draw.below(4)};
    // At least the window.
    const std::int64_t height = (s.w[2] - 1) * s.conv.dilation[0] + 1 + draw.below(6);
    const std::int64_t width = (s.w[3] - 1) * s.conv.dilation[1] + 1 + draw.below(6);
    s.x = {draw.one_of({1, 2, 9, 17}), height, width, s.w[1]};
    check_all(draw, s);
  }
}

// The forms of the standard workloads: 3 x 3 same with one and with many channels; DeepLOB's tall and wide windows.
TEST(Conv2d, FormsOfTheStandardWorkloads) {
  Draw draw(2);
  check_all(draw, {{11, 28, 28, 1}, {32, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, graph::Activation::kRelu}});
  check_all(draw, {{9, 14, 14, 32}, {64, 32, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, graph::Activation::kRelu}});
  check_all(draw, {{3, 20, 40, 1}, {32, 1, 1, 2}, {{1, 2}, {0, 0}, {1, 1}, {}}});
  check_all(draw, {{3, 20, 20, 32}, {32, 32, 4, 1}, {}});
  check_all(draw, {{3, 20, 10, 32}, {32, 32, 1, 10}, {}});
  check_all(draw, {{2, 1, 70, 24}, {24, 24, 1, 3}, {{1, 1}, {0, graph::Padding(16, 0)}, {1, 8}}, {}});
  check_all(draw, {{3, 256, 1, 64}, {64, 64, 5, 1}, {{1, 1}, {2, 0}, {1, 1}}, {}});
}

// Bands of rows of an image too large for a block, windows too large for the stack, and parts of the rows of dw.
TEST(Conv2d, LargeImagesAndManyChannels) {
  Draw draw(5);
  check_all(draw, {{2, 150, 60, 20}, {24, 20, 3, 3}, {{1, 1}, {1, 1}, {1, 1}}, {}});
  check_all(draw, {{1, 61, 64, 3}, {40, 3, 7, 7}, {{2, 2}, {3, 3}, {1, 1}}, {}});
  check_all(draw, {{1, 3, 300, 170}, {5, 170, 3, 3}, {{1, 1}, {1, 1}, {1, 1}}, {}});
  check_all(draw, {{2, 6, 5, 400}, {300, 400, 3, 3}, {{1, 1}, {1, 1}, {1, 1}}, {}});
}

TEST(Conv2d, NoImages) {
  Draw draw(3);
  check_all(draw, {{0, 5, 5, 3}, {4, 3, 3, 3}, {}});
}

// A tile's share of the gradient of the weights, a single image of 24, must show.
TEST(Conv2d, ALostImageIsFound) {
  Draw draw(4);
  const Shape x{24, 6, 6, 4}, y{24, 4, 4, 8};
  Problem problem{graph::conv2d_grad_weight_op(),
                  graph::Conv2dGradWeightAttributes{{}, {3, 3}, true}.to_attributes(),
                  {f32(y), f32(x)},
                  {draw.normal(y), draw.normal(x)},
                  tolerance_of_sum(y.rows())};
  EXPECT_EQ(failures_of(problem), "");
  Problem without = problem;
  std::fill_n(without.inputs[0].end() - 4 * 4 * 8, 4 * 4 * 8, 0.0);
  std::string ignored;
  const std::vector<graph::TensorType> types = problem.op.infer(problem.attributes, problem.types);
  const auto lost = launch(without, types, 1, ignored);
  EXPECT_NE(failures_of(problem, [&](auto& outputs) { outputs = lost; }), "");
}

}  // namespace
}  // namespace headway::backend
