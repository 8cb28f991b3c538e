#include "graph/ops/dropout.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernel_harness.h"
#include "base/rng.h"

namespace headway::backend::testing {
namespace {

Case dropout(const Shape& shape, double p, const Tensor& position, std::int64_t stream = 3) {
  return {graph::dropout_op(),
          graph::DropoutAttributes{p, stream}.to_attributes(),
          {f32(shape), i64({4})},
          {Draw(1).normal(shape.elements()), position}};
}

TEST(DropoutKernel, AgreesWithTheReference) {
  for (const Shape& shape :
       {Shape{1}, Shape{0}, Shape{4, 0}, Shape{5, 7}, Shape{3, 130}, Shape{8, 16, 33}, Shape{40000}}) {
    for (const double p : {0.0, 0.1, 0.5, 0.999}) {
      for (const double first_sample : {0.0, 1.0, 7.0, 123456789.0}) {
        EXPECT_EQ(report_of(dropout(shape, p, {42, 7, 0, first_sample})), "");
      }
    }
  }
}

// Element for element the numbers of base/rng.h, with counters beyond 32 bits and all 32 bits of step and stream.
TEST(DropoutKernel, DrawsTheNumbersOfBaseRng) {
  constexpr std::int64_t kSamples = 97, kPerSample = 61;
  for (const std::int64_t first_sample :
       {std::int64_t{0}, std::int64_t{3}, (std::int64_t{1} << 34) / kPerSample - 50}) {
    Case test =
        dropout(Shape{kSamples, kPerSample}, 0.3, {0x1234567890ABC, 4294967295.0, 1, double(first_sample)}, 4000000000);
    test.inputs[0].assign(test.inputs[0].size(), 1);
    const Tensor y = outputs_of(test)[0];
    for (std::int64_t i = 0; i < kSamples * kPerSample; ++i) {
      const auto element = static_cast<std::uint64_t>(first_sample * kPerSample + i);
      const float uniform = uniform_from_bits(random_bits(0x1234567890ABC, 4000000000U, 4294967295U, element));
      ASSERT_EQ(y[static_cast<std::size_t>(i)] != 0, static_cast<double>(uniform) >= 0.3) << i;
    }
  }
}

// Two halves of a batch draw what the whole batch draws.
TEST(DropoutKernel, DoesNotDependOnHowTheBatchIsSplit) {
  const Case whole = dropout(Shape{10, 33}, 0.4, {5, 6, 0, 20});
  Case second = dropout(Shape{5, 33}, 0.4, {5, 6, 1, 25});
  second.inputs[0].assign(whole.inputs[0].begin() + 5 * 33, whole.inputs[0].end());
  const Tensor all = outputs_of(whole)[0];
  EXPECT_EQ(outputs_of(second)[0], Tensor(all.begin() + 5 * 33, all.end()));
}

}  // namespace
}  // namespace headway::backend::testing
