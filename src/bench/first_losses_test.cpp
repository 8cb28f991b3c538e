#include "bench/first_losses.h"

#include <gtest/gtest.h>

#include <limits>

namespace headway::bench {
namespace {

// A defect of our side shows at a step before rounding has grown, one that rounding explains does not: a rule over the
// largest distances alone would let the first pass.
TEST(Losses, AgreeWithinWhatRoundingHasDoneSoFar) {
  const std::vector<double> exact = {5, 4, 3}, theirs = {5, 4.0001, 3.03};
  EXPECT_TRUE(losses_agree({5.004, 4, 3}, {5, 4, 3}, exact));
  EXPECT_FALSE(losses_agree({5.006, 4, 3}, {5, 4, 3}, exact));
  EXPECT_TRUE(losses_agree({5, 4, 2.8}, theirs, exact));
  EXPECT_FALSE(losses_agree({5, 4, 2.6}, theirs, exact));
  EXPECT_FALSE(losses_agree({5, 4.1, 3}, theirs, exact));
}

TEST(Losses, WhatIsNotFiniteDoesNotAgree) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(losses_agree({nan}, {1}, {1}));
  EXPECT_FALSE(losses_agree({1}, {nan}, {1}));
  EXPECT_FALSE(losses_agree({1}, {1}, {nan}));
}

TEST(Losses, TheLargestDifferenceIsRelativeToTheSecond) {
  EXPECT_DOUBLE_EQ(largest_relative_difference({1, 3}, {1, 2}), 0.5);
}

}  // namespace
}  // namespace headway::bench
