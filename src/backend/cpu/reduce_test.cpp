#include "graph/ops/reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

TEST(ReduceKernel, AgreesWithTheReference) {
  struct Sum {
    Shape x;
    std::int64_t first, count;
  };
  const std::vector<Sum> sums = {
      {{7}, 0, 1},           {{0, 5}, 0, 1},        {{0, 5}, 1, 1},     {{5, 0}, 0, 1},
      {{5, 0}, 1, 1},        {{3, 17, 5}, 1, 1},    {{3, 17, 5}, 1, 2}, {{3, 17, 5}, 0, 3},
      {{600, 33}, 1, 1},     {{2, 40000}, 1, 1},    {{200001}, 0, 1},   {{3, 700, 131}, 1, 1},
      {{2, 30, 9001}, 1, 1}, {{2, 3, 70000}, 2, 1}, {{90, 4, 1}, 1, 2}, {{5, 20011, 4}, 1, 1}};
  for (const Sum& sum : sums) {
    const Case test{graph::reduce_op(),
                    graph::ReduceAttributes{sum.first, sum.count}.to_attributes(),
                    {f32(sum.x)},
                    {Draw(3).normal(sum.x.elements())},
                    std::sqrt(static_cast<double>(sum.x.elements()) + 1)};
    EXPECT_EQ(report_of(test), "");
  }
}

TEST(ExpandKernel, AgreesWithTheReference) {
  struct Stretch {
    Shape from, to;
  };
  for (const Stretch& at : std::vector<Stretch>{{{}, {}},
                                                {{}, {3, 50000}},
                                                {{5}, {5}},
                                                {{1}, {0, 4}},
                                                {{3, 1}, {3, 17}},
                                                {{17}, {600, 17}},
                                                {{2, 1, 5, 1}, {2, 3, 5, 7}},
                                                {{4, 1, 129}, {4, 90, 129}},
                                                {{2, 1}, {2, 90001}}}) {
    EXPECT_EQ(report_of({graph::expand_op(),
                         graph::ExpandAttributes{at.to.dims()}.to_attributes(),
                         {f32(at.from)},
                         {Draw(2).normal(at.from.elements())}}),
              "");
  }
}

}  // namespace
}  // namespace headway::backend::testing
