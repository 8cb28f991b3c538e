#include "data/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace headway::data {
namespace {

std::vector<std::int64_t> order(std::int64_t n, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(n);
  std::vector<std::int64_t> images;
  for (std::int64_t index = 0; index < n; ++index) images.push_back(permutation(seed, epoch, index));
  return images;
}

void expect_bijective(std::int64_t n, std::uint64_t epoch) {
  std::vector<std::int64_t> images = order(n, 3, epoch), all(static_cast<std::size_t>(n));
  std::sort(images.begin(), images.end());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  EXPECT_TRUE(images == all) << n;
}

TEST(Permutation, IsBijectiveForEverySize) {
  for (std::int64_t n = 1; n <= 300; ++n) expect_bijective(n, static_cast<std::uint64_t>(n % 3));
  for (const std::int64_t n : {1023, 1024, 1025, 4095, 9973, 10000, 10001, 65537, 250007}) expect_bijective(n, 1);
}

TEST(Permutation, ReachesHugeSizes) {
  for (const std::int64_t n : {std::int64_t{1} << 40, (std::int64_t{1} << 40) - 87, std::int64_t{1} << 62}) {
    const Permutation permutation(n);
    std::vector<std::int64_t> images;
    for (std::int64_t index = 0; index < 2000; ++index) {
      images.push_back(permutation(1, 0, index));
      EXPECT_GE(images.back(), 0);
      EXPECT_LT(images.back(), n);
    }
    const double mean = std::accumulate(images.begin(), images.end(), 0.0) / 2000;
    EXPECT_NEAR(mean / static_cast<double>(n), 0.5, 0.03);  // deviation of the mean: 0.29 / sqrt(2000) = 0.0065
    std::sort(images.begin(), images.end());
    EXPECT_EQ(std::adjacent_find(images.begin(), images.end()), images.end());
    EXPECT_GE(permutation(1, 0, n - 1), 0);
  }
}

// How often element i comes to place j, over many epochs. The counts have (n - 1)^2 degrees of freedom (rows and
// columns have fixed sums), and the statistic must be scaled by (n - 1) / n. Six deviations of a chi-square: no false
// alarm.
TEST(Permutation, BringsEveryElementToEveryPlaceEquallyOften) {
  constexpr int kEpochs = 20000;
  for (const std::int64_t n : {2, 3, 4, 5, 6, 7, 8, 13, 30}) {
    std::vector<double> counts(static_cast<std::size_t>(n * n));
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const std::vector<std::int64_t> images = order(n, 17, epoch);
      for (std::int64_t index = 0; index < n; ++index) {
        ++counts[static_cast<std::size_t>(index * n + images[static_cast<std::size_t>(index)])];
      }
    }
    const double expected = kEpochs / static_cast<double>(n), freedom = static_cast<double>((n - 1) * (n - 1));
    double statistic = 0;
    for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
    statistic *= static_cast<double>(n - 1) / static_cast<double>(n);
    EXPECT_LT(statistic, freedom + 6 * std::sqrt(2 * freedom)) << n;
  }
}

// The same in 16 x 16 cells for sizes that take the fewer rounds.
TEST(Permutation, SpreadsEachSixteenthEvenly) {
  constexpr std::int64_t kParts = 16;
  for (const std::int64_t n : {1024, 1040, 4096, 10000}) {
    constexpr int kEpochs = 200;
    std::vector<double> counts(kParts * kParts);
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const std::vector<std::int64_t> images = order(n, 23, epoch);
      for (std::int64_t index = 0; index < n; ++index) {
        ++counts[static_cast<std::size_t>(index * kParts / n * kParts +
                                          images[static_cast<std::size_t>(index)] * kParts / n)];
      }
    }
    const double expected = kEpochs * static_cast<double>(n) / (kParts * kParts), freedom = (kParts - 1) * (kParts - 1);
    double statistic = 0;
    for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
    EXPECT_LT(std::abs(statistic - freedom), 6 * std::sqrt(2 * freedom)) << n;  // too even would be wrong too
  }
}

double correlation(const std::vector<std::int64_t>& left, const std::vector<std::int64_t>& right, std::size_t shift) {
  const std::size_t count = left.size() - shift;
  const double mean = (static_cast<double>(left.size()) - 1) / 2;
  double product = 0, square = 0;
  for (std::size_t at = 0; at < count; ++at) {
    product += (static_cast<double>(left[at]) - mean) * (static_cast<double>(right[at + shift]) - mean);
    square += (static_cast<double>(left[at]) - mean) * (static_cast<double>(left[at]) - mean);
  }
  return product / square;
}

// A correlation of N random values has deviation 1 / sqrt(N): 0.0032 here; the bound is five of them.
TEST(Permutation, LeavesNoCorrelation) {
  constexpr std::int64_t kSize = 100003;
  const std::vector<std::int64_t> images = order(kSize, 5, 0);
  std::vector<std::int64_t> same(images.size());
  std::iota(same.begin(), same.end(), std::int64_t{0});
  EXPECT_LT(std::abs(correlation(images, same, 0)), 0.016);
  for (const std::size_t shift : {std::size_t{1}, std::size_t{2}, std::size_t{317}}) {  // 317 = ceil(sqrt(n))
    EXPECT_LT(std::abs(correlation(images, images, shift)), 0.016) << shift;
  }
  EXPECT_LT(std::abs(correlation(images, order(kSize, 5, 1), 0)), 0.016) << "the next epoch";
  EXPECT_LT(std::abs(correlation(images, order(kSize, 6, 0), 0)), 0.016) << "the next seed";
}

TEST(Permutation, DiffersByEpochAndSeedAndRepeats) {
  EXPECT_EQ(order(1000, 1, 2), order(1000, 1, 2));
  EXPECT_NE(order(1000, 1, 2), order(1000, 1, 3));
  EXPECT_NE(order(1000, 1, 2), order(1000, 2, 2));
  EXPECT_NE(order(1000, 1, 2), order(1000, 1, 2 + (1ULL << 32)));
  EXPECT_NE(order(1000, 1, 2), order(1000, 1 + (1ULL << 32), 2));
}

}  // namespace
}  // namespace headway::data
