#include "data/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "data/random_samples.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double covariance(const std::vector<double>& left, const std::vector<double>& right) {
  std::vector<double> products;
  for (std::size_t at = 0; at < left.size(); ++at) products.push_back(left[at] * right[at]);
  return mean_of(products) - mean_of(left) * mean_of(right);
}

constexpr std::int64_t kRows = 100000;
constexpr std::int64_t kFeatures = 9;

struct Columns {
  std::vector<std::vector<double>> features{kFeatures};
  std::vector<double> target, signal, noise;

  Columns() {
    const SyntheticRows rows(kRows, kFeatures, 5);
    for (std::int64_t row = 0; row < kRows; ++row) {
      const Sample sample(rows, row);
      const auto input = sample.as<float>(0);
      for (std::size_t feature = 0; feature < kFeatures; ++feature) features[feature].push_back(input[feature]);
      target.push_back(sample.as<float>(1)[0]);
      signal.push_back(SyntheticRows::signal(input));
      noise.push_back(target.back() - signal.back());
    }
  }
};

// With 1e5 rows a mean has deviation 0.003, a variance 0.0045 (the table of distractors, of 2.6e5 values, adds little).
TEST(SyntheticRows, HasIndependentNormalFeatures) {
  const Columns columns;
  for (std::size_t left = 0; left < kFeatures; ++left) {
    EXPECT_NEAR(mean_of(columns.features[left]), 0, 0.015) << left;
    EXPECT_NEAR(covariance(columns.features[left], columns.features[left]), 1, 0.025) << left;
    for (std::size_t right = 0; right < left; ++right) {
      EXPECT_NEAR(covariance(columns.features[left], columns.features[right]), 0, 0.015) << left << right;
    }
  }
}

TEST(SyntheticRows, HasTheDocumentedSignalAndNoise) {
  const Columns columns;
  EXPECT_NEAR(mean_of(columns.signal), 0, 0.015);
  EXPECT_NEAR(covariance(columns.signal, columns.signal), 1.0, 0.03);
  EXPECT_NEAR(mean_of(columns.noise), 0, 0.005);
  EXPECT_NEAR(covariance(columns.noise, columns.noise), 0.1, 0.003);
  EXPECT_NEAR(covariance(columns.noise, columns.signal), 0, 0.006);
  // Features are uncorrelated with variance 1, so a linear model explains the sum of its squared covariances.
  double explained = 0;
  for (const std::vector<double>& feature : columns.features)
    explained += std::pow(covariance(columns.target, feature), 2);
  EXPECT_NEAR(covariance(columns.target, columns.target) - explained, SyntheticRows::kBestLinearError, 0.03);
}

TEST(SyntheticRows, ComputesTheSignalByHand) {
  const double sine = std::sqrt((1 - std::exp(-8.0)) / 2);
  EXPECT_NEAR(SyntheticRows::signal(std::vector<float>{0, 0, 0, 0, 1}), 0, 1e-7);
  EXPECT_NEAR(SyntheticRows::signal(std::vector<float>{1, 2, 3, 0, 1}), 3.5, 1e-6);
  EXPECT_NEAR(SyntheticRows::signal(std::vector<float>{0, 0, 0, 0.5F, 2}),
              (std::sin(1.0) / sine + 3 / std::sqrt(2.0)) / 2, 1e-6);
}

TEST(SyntheticRows, DependsOnSeedAndRowOnly) {
  const SyntheticRows rows(1LL << 40, 130, 5), again(10, 130, 5), other(10, 130, 6);
  EXPECT_EQ(Sample(rows, 3), Sample(again, 3));
  EXPECT_FALSE(Sample(rows, 3) == Sample(rows, 4));
  EXPECT_FALSE(Sample(rows, 3) == Sample(rows, 3 + (1LL << 32)));
  EXPECT_FALSE(Sample(rows, 3) == Sample(other, 3));
  const SyntheticRows least(10, 5, 5);
  EXPECT_EQ(Sample(least, 3).as<float>(0)[4], Sample(again, 3).as<float>(0)[4]);
}

TEST(SyntheticRows, RejectsWhatCannotBe) {
  expect_mentions(message_of<UserError>([] { SyntheticRows(10, 4, 1); }), {"4 features", "5"});
  expect_mentions(message_of<UserError>([] { SyntheticRows(0, 5, 1); }), {"0 rows"});
}

TEST(RandomSamples, RepeatsAFewImages) {
  const auto images = random_images(Shape{28, 28, 1}, 10);
  EXPECT_EQ(images->distinct(), 256);
  EXPECT_EQ(Sample(*images, 3), Sample(*images, 256 * 7 + 3));
  EXPECT_FALSE(Sample(*images, 3) == Sample(*images, 4));
  std::vector<int> counts(10);
  for (std::int64_t index = 0; index < 256; ++index) {
    ++counts[static_cast<std::size_t>(Sample(*images, index).as<std::int32_t>(1)[0])];
  }
  for (const int count : counts) EXPECT_GT(count, 5);
  EXPECT_FALSE(Sample(*images, 3) == Sample(*random_images(Shape{28, 28, 1}, 10, 100, 2), 3));
  EXPECT_EQ(images->description(), "random: 1048576 samples, 256 of them distinct, f32 [28, 28, 1] to i32 []");
}

TEST(RandomSamples, StaysSmall) {
  EXPECT_EQ(random_tokens(1 << 19, 256)->distinct(), 4);  // 16 MiB / (2 * 4 * 2^19)
  EXPECT_EQ(random_tokens(3 << 20, 256)->distinct(), 1);  // one alone has 24 MiB
  EXPECT_EQ(random_tokens(8, 256, 3)->distinct(), 3);
}

TEST(RandomSamples, TokensAreFollowedByTheirTargets) {
  const auto tokens = random_tokens(64, 50257);
  std::int32_t largest = 0;
  for (std::int64_t index = 0; index < 256; ++index) {
    const Sample sample(*tokens, index);
    const auto input = sample.as<std::int32_t>(0), target = sample.as<std::int32_t>(1);
    EXPECT_TRUE(std::equal(input.begin() + 1, input.end(), target.begin()));
    for (std::size_t at = 0; at < 64; ++at) {
      EXPECT_TRUE(target[at] >= 0 && target[at] < 50257);
      largest = std::max(largest, target[at]);
    }
  }
  EXPECT_GT(largest, 50000);
}

TEST(RandomSamples, RegressionFieldsAreIndependentNormals) {
  const auto samples = random_regression(Shape{60, 20}, Shape{60, 20});
  std::vector<double> input, target;
  for (std::int64_t index = 0; index < 64; ++index) {
    const Sample sample(*samples, index);
    for (const float value : sample.as<float>(0)) input.push_back(value);
    for (const float value : sample.as<float>(1)) target.push_back(value);
  }
  EXPECT_NEAR(covariance(input, input), 1, 0.03);
  EXPECT_NEAR(covariance(target, target), 1, 0.03);
  EXPECT_NEAR(covariance(input, target), 0, 0.02);
}

}  // namespace
}  // namespace headway::data
