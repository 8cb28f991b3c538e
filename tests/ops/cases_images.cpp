#include "graph/ops/avg_pool.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/pool.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

// Of the activation after a convolution: those whose gradient is computed from their output.
constexpr graph::Activation kKindsOfGradients[] = {
    graph::Activation::kNone, graph::Activation::kRelu, {graph::Activation::kLeakyRelu, 0.1}, graph::Activation::kTanh};
constexpr graph::Activation kKinds[] = {
    graph::Activation::kNone,    graph::Activation::kRelu,     {graph::Activation::kLeakyRelu, 0.3},
    graph::Activation::kGeluErf, graph::Activation::kGeluTanh, graph::Activation::kSilu,
    graph::Activation::kTanh,    graph::Activation::kSigmoid};

struct ConvSize {
  std::int64_t batch, height, width, in, out, kernel_h, kernel_w;
  graph::Conv2dAttributes conv = {};
  bool large = false;

  Shape x() const { return {batch, height, width, in}; }
  Shape w() const { return {out, in, kernel_h, kernel_w}; }
};

graph::Conv2dAttributes conv_of(std::array<std::int64_t, 2> stride, std::array<graph::Padding, 2> padding,
                                std::array<std::int64_t, 2> dilation) {
  return {stride, padding, dilation, graph::Activation::kNone};
}

std::vector<ConvSize> conv_sizes(Random& random) {
  return {
      {1, 1, 1, 1, 1, 1, 1},
      {2, 5, 4, 3, 2, 1, 1},
      {2, 5, 7, 3, 4, 3, 3, conv_of({1, 1}, {1, 1}, {1, 1})},
      {0, 5, 7, 3, 4, 3, 3, conv_of({1, 1}, {1, 1}, {1, 1})},
      {1, 9, 8, 1, 3, 1, 2, conv_of({1, 2}, {0, 0}, {1, 1})},
      {2, 9, 3, 2, 5, 4, 1},
      {1, 11, 11, 2, 3, 3, 3, conv_of({2, 2}, {1, 1}, {1, 1})},
      {1, 12, 5, 2, 3, 3, 1, conv_of({1, 1}, {4, 0}, {2, 1})},
      {1, 13, 10, 3, 2, 3, 2, conv_of({3, 2}, {2, 1}, {2, 3})},
      {1, 6, 6, 17, 9, 5, 5, conv_of({1, 1}, {2, 2}, {1, 1})},
      {2, 1, 17, 5, 6, 1, 3, conv_of({1, 1}, {graph::Padding(), graph::Padding(8, 0)}, {1, 4})},
      {2, 7, 10, 3, 4, 1, 10},
      {1, 5, 6, 2, 3, 2, 3, conv_of({2, 1}, {graph::Padding(0, 1), graph::Padding(3, 1)}, {1, 1})},
      {random.integer(1, 4), random.integer(5, 12), random.integer(5, 12), random.integer(1, 9), random.integer(1, 9),
       3, 2, conv_of({1, 1}, {1, 0}, {1, 1})},
      {9, 28, 28, 1, 32, 3, 3, conv_of({1, 1}, {1, 1}, {1, 1}), true},
      {5, 14, 13, 33, 17, 3, 3, conv_of({1, 1}, {1, 1}, {1, 1}), true},
      {7, 40, 1, 24, 40, 3, 1, conv_of({1, 1}, {8, 0}, {4, 1}), true},
  };
}

}  // namespace

void conv2d_cases(CaseMaker& maker) {
  for (const graph::Activation kind : kKinds) {
    for (ConvSize& size : conv_sizes(maker.random())) {
      size.conv.activation = kind;
      const Operand x = maker.floats(size.x()), w = maker.floats(size.w(), -1, 1);
      maker.add(size.conv.to_attributes(), {x, w, maker.floats({size.out})}).large = size.large;
      if (!size.large) maker.add(size.conv.to_attributes(), {x, w});
    }
  }
}

void conv2d_grad_input_cases(CaseMaker& maker) {
  for (const graph::Activation kind : kKindsOfGradients) {
    for (ConvSize& size : conv_sizes(maker.random())) {
      size.conv.activation = kind;
      const Operand w = maker.floats(size.w(), -1, 1);
      const std::vector<Operand> y =
          maker.run(graph::conv2d_op(), size.conv.to_attributes(), {maker.floats(size.x()), w});
      const graph::Conv2dGradInputAttributes attributes{size.conv, size.x().dims()};
      std::vector<Operand> operands = {maker.floats(y[0].type.shape), w};
      if (kind != graph::Activation::kNone) operands.push_back(y[0]);
      maker.add(attributes.to_attributes(), operands).large = size.large;
    }
  }
}

void conv2d_grad_weight_cases(CaseMaker& maker) {
  for (const graph::Activation kind : kKindsOfGradients) {
    for (ConvSize& size : conv_sizes(maker.random())) {
      size.conv.activation = kind;
      const Operand x = maker.floats(size.x());
      const std::vector<Operand> y =
          maker.run(graph::conv2d_op(), size.conv.to_attributes(), {x, maker.floats(size.w(), -1, 1)});
      for (const bool bias : {true, false}) {
        const graph::Conv2dGradWeightAttributes attributes{size.conv, {size.kernel_h, size.kernel_w}, bias};
        std::vector<Operand> operands = {maker.floats(y[0].type.shape), x};
        if (kind != graph::Activation::kNone) operands.push_back(y[0]);
        maker.add(attributes.to_attributes(), operands).large = size.large;
      }
    }
  }
}

namespace {

struct PoolSize {
  Shape x;
  graph::Pool2dAttributes pool = {};
  bool large = false;
};

std::vector<PoolSize> pool_sizes(Random& random) {
  return {
      {{1, 2, 2, 1}},
      {{2, 4, 6, 3}},
      {{0, 4, 4, 3}},
      {{2, 5, 7, 17}},
      {{1, 7, 7, 2}, {{3, 3}, {2, 2}}},
      {{1, 9, 1, 5}, {{3, 1}, {1, 1}}},
      {{2, 9, 1, 5}, {{3, 1}, {1, 1}, {1, 0}}},
      {{1, 6, 7, 18}, {{3, 3}, {2, 2}, {graph::Padding(2, 0), graph::Padding(0, 1)}}},
      {{1, 5, 6, 4}, {{1, 1}, {1, 1}}},
      {{1, 8, 8, 3}, {{2, 2}, {3, 3}}},
      {{random.integer(1, 4), random.integer(4, 9), random.integer(4, 9), random.integer(1, 40)}},
      {{11, 28, 28, 33}, {}, true},
  };
}

}  // namespace

void max_pool2d_cases(CaseMaker& maker) {
  for (const PoolSize& size : pool_sizes(maker.random())) {
    maker.add(size.pool.to_attributes(), {maker.floats(size.x)}).large = size.large;
  }
  // Windows full of ties: the first of equals.
  maker.add(graph::Pool2dAttributes{}.to_attributes(),
            {maker.given({2, 8, 8, 5}, maker.random().integers({2, 8, 8, 5}, -1, 1))});
}

void max_pool2d_grad_cases(CaseMaker& maker) {
  for (const PoolSize& size : pool_sizes(maker.random())) {
    const std::vector<Operand> saved =
        maker.run(graph::max_pool2d_op(), size.pool.to_attributes(), {maker.floats(size.x)});
    const graph::Pool2dGradAttributes attributes{size.pool, size.x.dims()};
    maker.add(attributes.to_attributes(), {maker.floats(saved[0].type.shape), saved[1]}).large = size.large;
  }
}

void avg_pool2d_cases(CaseMaker& maker) {
  for (const PoolSize& size : pool_sizes(maker.random())) {
    maker.add(size.pool.to_attributes(), {maker.floats(size.x)}).large = size.large;
  }
}

void avg_pool2d_grad_cases(CaseMaker& maker) {
  for (const PoolSize& size : pool_sizes(maker.random())) {
    const std::vector<Operand> y = maker.run(graph::avg_pool2d_op(), size.pool.to_attributes(), {maker.floats(size.x)});
    const graph::Pool2dGradAttributes attributes{size.pool, size.x.dims()};
    maker.add(attributes.to_attributes(), {maker.floats(y[0].type.shape)}).large = size.large;
  }
}

}  // namespace headway::ops_test
