#include "bench/compare.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"
#include "bench/convergence.h"

namespace headway::bench {
namespace {

// Step times of `mean` with a relative deviation.
std::vector<double> series(double mean, double deviation, std::size_t count, std::uint32_t stream) {
  std::vector<double> result;
  for (std::size_t index = 0; index < count; ++index) {
    result.push_back(mean * (1 + deviation * random_normal(1, stream, 0, index)));
  }
  return result;
}

TEST(Compare, SeesWhatIsFasterAndSlower) {
  const std::vector<double> slow = series(11, 0.01, 60, 1), fast = series(10, 0.01, 50, 2);
  const Comparison faster = compare_times(slow, fast);
  EXPECT_EQ(faster.verdict, Verdict::kFaster);
  EXPECT_NEAR(faster.ratio, 1.1, 0.01);
  EXPECT_LT(faster.low, faster.ratio);
  EXPECT_GT(faster.high, faster.ratio);
  EXPECT_EQ(compare_times(fast, slow).verdict, Verdict::kSlower);
}

// Many samples make a difference of 1 % significant; under the noise floor it still is none.
TEST(Compare, SmallDifferencesAreTheSame) {
  const Comparison same = compare_times(series(10.1, 0.005, 5000, 3), series(10, 0.005, 5000, 4));
  EXPECT_GT(same.low, 1);
  EXPECT_EQ(same.verdict, Verdict::kSame);
}

TEST(Compare, FewOrNoisySamplesAreAmbiguous) {
  EXPECT_EQ(compare_times(series(10.5, 0.2, 8, 5), series(10, 0.2, 8, 6)).verdict, Verdict::kAmbiguous);
  const std::vector<double> one = {10}, other = {12};
  EXPECT_EQ(compare_times(other, one).noise_floor, 0.02);
}

// A quarter of outliers ten times as slow on one side does not turn the verdict.
TEST(Compare, OutliersDoNotDecide) {
  std::vector<double> a = series(10, 0.005, 100, 7);
  const std::vector<double> b = series(10, 0.005, 100, 8);
  for (std::size_t index = 0; index < 20; ++index) a[index * 5] *= 10;
  EXPECT_NE(compare_times(a, b).verdict, Verdict::kFaster);
}

// The interval must cover the true ratio in about 95 of 100 series.
TEST(Compare, IntervalCoversTheTruth) {
  int covered = 0;
  for (std::uint32_t round = 0; round < 400; ++round) {
    const Comparison comparison =
        compare_times(series(12, 0.05, 20, 100 + 2 * round), series(10, 0.05, 25, 101 + 2 * round));
    if (comparison.low <= 1.2 && 1.2 <= comparison.high) ++covered;
  }
  EXPECT_GE(covered, 370);
  EXPECT_LE(covered, 394);
}

TEST(Convergence, OlympicMeanDropsOneOfEachEnd) {
  EXPECT_DOUBLE_EQ(olympic_mean(std::vector<double>{5, 1, 2, 3, 100}), 10.0 / 3);
  EXPECT_DOUBLE_EQ(olympic_mean(std::vector<double>{4, 8}), 6);
}

// The example of MLPerf's rules: ten reference runs, five of the submission.
TEST(Convergence, LimitIsThatOfMlperf) {
  const std::vector<double> reference = {16, 14, 16, 17, 16, 16, 15, 16, 15, 16};
  EXPECT_NEAR(convergence_limit(reference, 5), 15.21, 0.005);
  EXPECT_GT(convergence_limit(reference, 10), convergence_limit(reference, 5));
  EXPECT_DOUBLE_EQ(convergence_limit(std::vector<double>{3, 3, 3, 3}, 5), 3);
}

}  // namespace
}  // namespace headway::bench
