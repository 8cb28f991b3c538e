#include "graph/ops/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

struct Pair {
  Shape a, b;
};

const std::vector<Pair> kPairs = {{{7}, {7}},
                                  {{0}, {0}},
                                  {{3, 0}, {0}},
                                  {{5, 17}, {17}},
                                  {{4, 3, 40}, {3, 40}},
                                  {{9, 1}, {1}},
                                  {{2, 3, 5}, {}},
                                  {{3, 5}, {4, 3, 5}},
                                  {{5, 1}, {1, 17}},
                                  {{2, 1, 7}, {2, 3, 1}},
                                  {{4, 3, 1}, {3, 90}},
                                  {{6, 1, 2, 1, 3}, {1, 5, 2, 4, 1}},
                                  {{1}, {0}},
                                  {{3, 1, 129}, {70, 1}},
                                  {{}, {70001}},
                                  {{2, 40000}, {2, 1}},
                                  {{1}, {1}},
                                  {{300, 128}, {128}},
                                  {{70000}, {70000}}};

TEST(ArithmeticKernels, BinaryOpsAgreeWithTheReference) {
  for (const Pair& pair : kPairs) {
    for (const graph::Op* op : {&graph::add_op(), &graph::sub_op(), &graph::mul_op(), &graph::div_op()}) {
      Draw draw(1);
      const Case test{
          *op, {}, {f32(pair.a), f32(pair.b)}, {draw.normal(pair.a.elements()), draw.normal(pair.b.elements())}};
      EXPECT_EQ(report_of(test), "");
    }
  }
}

TEST(ArithmeticKernels, DivisionByZeroIsThatOfIeee) {
  EXPECT_EQ(report_of({graph::div_op(), {}, {f32({4}), f32({4})}, {{1, -1, 0, 3}, {0, 0, 0, -0.0}}}), "");
}

TEST(ArithmeticKernels, ScaleAndFillAgreeWithTheReference) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{19}, Shape{3, 50000}}) {
    EXPECT_EQ(report_of({graph::scale_op(),
                         graph::ScaleAttributes{-0.5}.to_attributes(),
                         {f32(shape)},
                         {Draw(2).normal(shape.elements())}}),
              "");
    EXPECT_EQ(report_of({graph::fill_op(), graph::FillAttributes{0.1, shape.dims()}.to_attributes(), {}, {}}), "");
  }
}

TEST(ArithmeticKernels, SumLeadingAgreesWithTheReference) {
  struct Sum {
    Shape x;
    std::int64_t keep;
  };
  const std::vector<Sum> sums = {{{7}, 1},        {{0, 5}, 1},        {{5, 0}, 1},    {{100, 1}, 1}, {{33, 17}, 1},
                                 {{9, 3, 40}, 2}, {{9, 3, 40}, 3},    {{2, 5000}, 1}, {{64}, 0},     {{3000, 130}, 1},
                                 {{50000, 1}, 1}, {{40, 2, 9001}, 1}, {{100000}, 0}};
  for (const Sum& sum : sums) {
    const double rows = static_cast<double>(sum.x.elements()) + 1;
    const Case test{graph::sum_leading_op(),
                    graph::SumLeadingAttributes{sum.keep}.to_attributes(),
                    {f32(sum.x)},
                    {Draw(3).normal(sum.x.elements())},
                    std::sqrt(rows)};
    EXPECT_EQ(report_of(test), "");
  }
}

TEST(ArithmeticKernels, AccumulateAgreesWithTheReference) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{33}, Shape{7, 10001}}) {
    for (const double micro_batch : {0.0, 1.0, 5.0}) {
      Draw draw(4);
      const Case test{graph::accumulate_op(),
                      {},
                      {f32(shape), f32(shape), i64({4})},
                      {draw.normal(shape.elements()), draw.normal(shape.elements()), {1, 2, micro_batch, 3}}};
      EXPECT_EQ(report_of(test), "");
    }
  }
}

// Garbage in an accumulator does not survive micro-batch 0, not even NaN.
TEST(ArithmeticKernels, AccumulateStartsAfresh) {
  const Case test{graph::accumulate_op(), {}, {f32({2}), f32({2}), i64({4})}, {{NAN, INFINITY}, {1, 2}, {0, 0, 0, 0}}};
  EXPECT_EQ(outputs_of(test)[0], (Tensor{1, 2}));
}

}  // namespace
}  // namespace headway::backend::testing
