#include <limits>

#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/cast.h"
#include "graph/ops/dropout.h"
#include "graph/ops/reduce.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

// Every kind, and a slope that is not the default.
std::vector<graph::Activation> all_kinds() {
  std::vector<graph::Activation> kinds = {{graph::Activation::kLeakyRelu, 0.3}};
  kinds.insert(kinds.end(), graph::kActivations.begin(), graph::kActivations.end());
  return kinds;
}

// What activation_grad is given: an input, or an output of that kind.
Operand saved_of(CaseMaker& maker, graph::Activation kind, const Shape& shape) {
  Operand x = maker.floats(shape, -6, 6);
  if (!graph::gradient_uses_output(kind)) return x;
  for (std::size_t i = 0; kind.kind == graph::Activation::kRelu && i < x.values.size(); i += 3) x.values[i] = 0;
  return maker.run(graph::activation_op(), graph::ActivationAttributes{kind}.to_attributes(), {x})[0];
}

// Empty, one element, odd, a vector with and without a tail, several axes, and one of many tiles.
std::vector<Shape> shapes_of(Random& random) {
  return {{0, 5}, {1}, {7}, {16}, {3, 5}, {2, 3, 17}, {random.integer(1, 40), random.integer(1, 40)}};
}
const Shape kLarge = {701, 515};

}  // namespace

void activation_cases(CaseMaker& maker) {
  for (const graph::Activation kind : all_kinds()) {
    const graph::Attributes attributes = graph::ActivationAttributes{kind}.to_attributes();
    for (const Shape& shape : shapes_of(maker.random())) maker.add(attributes, {maker.floats(shape, -6, 6)});
    // Far out, where exp overflows when carelessly used.
    maker.add(attributes, {maker.given({9}, {-1e4, -100, -20, -9, 0, 9, 20, 100, 1e4})});
    maker.add(attributes, {maker.floats(kLarge, -6, 6)}).large = true;
  }
}

void activation_grad_cases(CaseMaker& maker) {
  for (const graph::Activation kind : all_kinds()) {
    for (const bool bias_grad : {false, true}) {
      const graph::Attributes attributes = graph::ActivationGradAttributes{kind, bias_grad}.to_attributes();
      for (const Shape& shape : shapes_of(maker.random())) {
        maker.add(attributes, {maker.floats(shape), saved_of(maker, kind, shape)});
      }
      maker.add(attributes, {maker.floats(kLarge), saved_of(maker, kind, kLarge)}).large = true;
    }
  }
}

void swiglu_cases(CaseMaker& maker) {
  for (const Shape& shape : shapes_of(maker.random())) maker.add({}, {maker.floats(shape, -6, 6), maker.floats(shape)});
  maker.add({}, {maker.given({5}, {-1e4, -90, 0, 90, 1e4}), maker.floats({5})});
  maker.add({}, {maker.floats(kLarge, -6, 6), maker.floats(kLarge)}).large = true;
}

void swiglu_grad_cases(CaseMaker& maker) {
  const auto grad = [&](const Shape& shape) -> OpCase& {
    return maker.add({}, {maker.floats(shape), maker.floats(shape, -6, 6), maker.floats(shape)});
  };
  for (const Shape& shape : shapes_of(maker.random())) grad(shape);
  maker.add({}, {maker.floats({5}), maker.given({5}, {-1e4, -90, 0, 90, 1e4}), maker.floats({5})});
  grad(kLarge).large = true;
}

namespace {

// The second operand from `low` on.
void binary_cases(CaseMaker& maker, double low = -2) {
  const auto pair = [&](const Shape& a, const Shape& b) -> OpCase& {
    return maker.add({}, {maker.floats(a), maker.floats(b, low, 2)});
  };
  for (const Shape& shape : shapes_of(maker.random())) pair(shape, shape);
  // Broadcast on either side, over leading, trailing and middle axes, on both sides at once.
  pair({5, 7}, {7});
  pair({4, 3, 5}, {3, 5});
  pair({5}, {4, 3, 5});
  pair({6, 1}, {1});
  pair({}, {3, 5});
  pair({0, 7}, {7});
  pair({3, 5}, {3, 1});
  pair({4, 1, 5}, {4, 3, 5});
  pair({4, 1, 5}, {3, 1});
  pair({2, 1, 3, 1, 5}, {4, 1, 2, 1});
  pair({1, 1}, {1, 0});
  pair(kLarge, kLarge).large = true;
  pair(kLarge, {515}).large = true;
  pair({701, 1}, kLarge).large = true;
  pair({37, 1, 301}, {45, 1}).large = true;
}

}  // namespace

void add_cases(CaseMaker& maker) {
  binary_cases(maker);
}
void sub_cases(CaseMaker& maker) {
  binary_cases(maker);
}
void mul_cases(CaseMaker& maker) {
  binary_cases(maker);
}
void div_cases(CaseMaker& maker) {
  binary_cases(maker, 0.5);
}

void scale_cases(CaseMaker& maker) {
  for (const double factor : {0.0, 1.0, -0.37}) {
    const graph::Attributes attributes = graph::ScaleAttributes{factor}.to_attributes();
    for (const Shape& shape : shapes_of(maker.random())) maker.add(attributes, {maker.floats(shape)});
    maker.add(attributes, {maker.floats({})});
    maker.add(attributes, {maker.floats(kLarge)}).large = true;
  }
}

void cast_cases(CaseMaker& maker) {
  const DType to = maker.dtype() == DType::kBF16 ? DType::kF32 : DType::kBF16;
  const graph::Attributes attributes = graph::CastAttributes{to}.to_attributes();
  for (const Shape& shape : shapes_of(maker.random())) maker.add(attributes, {maker.floats(shape)});
  // Ties, the largest value that does not round to infinity, subnormals, both signs.
  maker.add(attributes, {maker.given({6}, {1.00390625, 1.01171875, -3.3895313892515355e38, 1e-40, -0.0, 0.0})});
  maker.add(attributes, {maker.floats(kLarge)}).large = true;
}

void fill_cases(CaseMaker& maker) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{}, {0}, {1}, {17}, {3, 5}, {2, 3, 4}}) {
    maker.add(graph::FillAttributes{1.25, shape}.to_attributes(), {});
  }
  maker.add(graph::FillAttributes{-0.5, {701, 515}}.to_attributes(), {}).large = true;
}

void sum_leading_cases(CaseMaker& maker) {
  const auto sum = [&](const Shape& shape, std::int64_t keep) -> OpCase& {
    return maker.add(graph::SumLeadingAttributes{keep}.to_attributes(), {maker.floats(shape)});
  };
  sum({0, 5}, 1);
  sum({1}, 1);
  sum({9}, 0);
  sum({7, 3}, 1);
  sum({7, 3}, 2);
  sum({2, 5, 3}, 1);
  sum({2, 5, 3}, 2);
  sum({2, 5, 3}, 0);
  sum({33, 1}, 1);
  sum({maker.random().integer(1, 60), maker.random().integer(1, 60)}, 1);
  sum({5003, 37}, 1).large = true;
  sum({3, 401, 515}, 2).large = true;
  sum({200001}, 0).large = true;
}

void reduce_cases(CaseMaker& maker) {
  const auto sum = [&](const Shape& shape, std::int64_t first, std::int64_t count) -> OpCase& {
    return maker.add(graph::ReduceAttributes{first, count}.to_attributes(), {maker.floats(shape)});
  };
  sum({7}, 0, 1);
  sum({0, 5}, 0, 1);
  sum({5, 0}, 0, 1);
  sum({3, 5}, 1, 1);
  sum({4, 3, 5}, 1, 1);
  sum({4, 3, 5}, 0, 2);
  sum({4, 3, 5}, 1, 2);
  sum({2, 3, 4, 5}, 1, 2);
  sum({maker.random().integer(1, 40), maker.random().integer(1, 40)}, 1, 1);
  sum({701, 515}, 1, 1).large = true;
  sum({3, 2001, 37}, 1, 1).large = true;
  sum({200001}, 0, 1).large = true;
  sum({2, 100003}, 1, 1).large = true;
}

void expand_cases(CaseMaker& maker) {
  const auto stretch = [&](const Shape& from, const Shape& to) -> OpCase& {
    return maker.add(graph::ExpandAttributes{to.dims()}.to_attributes(), {maker.floats(from)});
  };
  stretch({}, {});
  stretch({}, {3, 4});
  stretch({5}, {5});
  stretch({5}, {3, 5});
  stretch({1}, {0});
  stretch({3, 1}, {3, 17});
  stretch({2, 1, 3, 1}, {2, 4, 3, 5});
  stretch({515}, kLarge).large = true;
  stretch({701, 1}, kLarge).large = true;
  stretch({37, 1, 301}, {37, 45, 301}).large = true;
}

void accumulate_cases(CaseMaker& maker) {
  for (const std::int64_t micro_batch : {0, 1, 5}) {
    const Operand position = maker.position(7, 3, micro_batch, 64);
    for (const Shape& shape : shapes_of(maker.random())) {
      maker.add({}, {maker.floats(shape), maker.floats(shape), position});
    }
    maker.add({}, {maker.floats(kLarge), maker.floats(kLarge), position}).large = true;
  }
  // What the accumulator held before the first micro-batch does not matter, not even NaN.
  maker.add({}, {maker.given({5}, Tensor(5, std::numeric_limits<double>::quiet_NaN())), maker.floats({5}),
                 maker.position(7, 3, 0, 0)});
}

void dropout_cases(CaseMaker& maker) {
  for (const double p : {0.0, 0.1, 0.5, 0.9}) {
    const graph::Attributes attributes = graph::DropoutAttributes{p, maker.random().integer(0, 99)}.to_attributes();
    for (const Shape& shape : shapes_of(maker.random())) {
      maker.add(attributes, {maker.floats(shape), maker.position(maker.random().integer(0, 1 << 30), 11, 2, 24)});
    }
    // Rows of an odd length that begin inside a block of four random words.
    maker.add(attributes, {maker.floats({5, 3}), maker.position(3, 0, 0, 7)});
    maker.add(attributes, {maker.floats(kLarge), maker.position(3, 1, 0, 1000)}).large = true;
  }
}

}  // namespace headway::ops_test
