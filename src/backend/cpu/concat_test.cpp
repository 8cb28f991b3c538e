#include "graph/ops/concat.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

// Parts of one element, of many tiles, and one that is empty; a run that is cut into tiles.
TEST(ConcatKernel, AgreesWithTheReference) {
  for (const Shape& first : {Shape{1, 1}, Shape{5, 0}, Shape{3, 1000}, Shape{2, 70001}}) {
    Draw draw(1);
    const Shape second{first[0], 7};
    EXPECT_EQ(
        report_of({graph::concat_op(),
                   graph::ConcatAttributes{1}.to_attributes(),
                   {f32(first), f32(second), f32(first)},
                   {draw.normal(first.elements()), draw.normal(second.elements()), draw.normal(first.elements())}}),
        "");
  }
}

TEST(SliceKernel, AgreesWithTheReference) {
  for (const graph::SliceAttributes& slice :
       {graph::SliceAttributes{1, 0, 1}, {1, 9, 1}, {1, 3, 0}, {0, 2, 1}, {2, 5, 7000}}) {
    const Shape shape{3, 10, 9000};
    EXPECT_EQ(report_of({graph::slice_op(), slice.to_attributes(), {f32(shape)}, {Draw(2).normal(shape.elements())}}),
              "");
    std::vector<std::int64_t> dims = shape.dims();
    dims[static_cast<std::size_t>(slice.axis)] = slice.length;
    const Shape part{dims};
    EXPECT_EQ(report_of({graph::slice_grad_op(),
                         graph::SliceGradAttributes{slice, shape.dims()}.to_attributes(),
                         {f32(part)},
                         {Draw(3).normal(part.elements())}}),
              "");
  }
}

}  // namespace
}  // namespace headway::backend::testing
