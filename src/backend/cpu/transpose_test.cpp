#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backend/cpu/kernel_harness.h"
#include "graph/ops/shape_ops.h"

namespace headway::backend::testing {
namespace {

TEST(TransposeKernel, AgreesWithTheReferenceForEveryPermutation) {
  const std::vector<Shape> shapes = {Shape{},           Shape{5},           Shape{3, 4},        Shape{1, 7},
                                     Shape{17, 33},     Shape{2, 3, 4},     Shape{5, 1, 9},     Shape{2, 0, 3},
                                     Shape{3, 2, 5, 7}, Shape{2, 8, 8, 16}, Shape{4, 5, 1, 20}, Shape{2, 3, 2, 3, 2}};
  for (const Shape& shape : shapes) {
    std::vector<std::int64_t> permutation(static_cast<std::size_t>(shape.rank()));
    std::iota(permutation.begin(), permutation.end(), 0);
    do {
      const Case test{graph::transpose_op(),
                      graph::TransposeAttributes{permutation}.to_attributes(),
                      {f32(shape)},
                      {Draw(1).normal(shape.elements())}};
      EXPECT_EQ(report_of(test), "");
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

TEST(TransposeKernel, TakesLargePlanes) {
  for (const Shape& shape : {Shape{300, 1001}, Shape{1, 4096}, Shape{1000, 3}, Shape{257, 128}}) {
    EXPECT_EQ(report_of({graph::transpose_op(),
                         graph::TransposeAttributes{{1, 0}}.to_attributes(),
                         {f32(shape)},
                         {Draw(2).normal(shape.elements())}}),
              "");
  }
  EXPECT_EQ(report_of({graph::transpose_op(),
                       graph::TransposeAttributes{{0, 3, 1, 2}}.to_attributes(),
                       {f32({4, 28, 28, 32})},
                       {Draw(3).normal(4 * 28 * 28 * 32)}}),
            "");
}

}  // namespace
}  // namespace headway::backend::testing
