#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <vector>

#include "base/dtype.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/shape.h"
#include "base/statistics.h"
#include "base/text.h"

namespace headway {
namespace {

TEST(Philox, MatchesTheKnownAnswersOfRandom123) {
  // kat_vectors of the Random123 distribution, philox4x32-10: zeros, and all ones.
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ULL, {~0U, ~0U, ~0U, ~0U}), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, NormalHasUnitVariance) {
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int index = 0; index < kCount; ++index) {
    const double value = random_normal(7, 1, 0, static_cast<std::uint64_t>(index));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

TEST(Shape, CountsElementsAndRows) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{4, 0, 3}).elements(), 0);
  EXPECT_EQ((Shape{4, 5, 3}).rows(), 20);
  EXPECT_EQ((Shape{4, 5, 3})[-1], 3);
  EXPECT_EQ(to_string(Shape{64, 128}), "[64, 128]");
}

TEST(DType, NamesRoundTrip) {
  EXPECT_EQ(dtype_from_name("bf16"), DType::kBF16);
  EXPECT_EQ(name_of(DType::kI64), "i64");
  EXPECT_EQ(size_of(DType::kF16), 2);
  EXPECT_FALSE(dtype_from_name("float"));
}

TEST(Statistics, QuantilesInterpolate) {
  const std::vector<double> samples = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(median(samples), 2.5);
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 4);
}

TEST(Statistics, WarmupIsFoundInTheSamples) {
  std::vector<double> samples = {50, 30, 20};
  samples.insert(samples.end(), 20, 10.0);
  EXPECT_EQ(warmup_length(samples, 0.05), 3U);
  EXPECT_EQ(warmup_length(std::vector<double>(20, 10.0), 0.05), 0U);
}

TEST(Text, NearestNameIsFoundOrNot) {
  const std::vector<std::string> names = {"steps", "seed", "precision"};
  EXPECT_EQ(nearest("step", names), "steps");
  EXPECT_EQ(nearest("precison", names), "precision");
  EXPECT_EQ(nearest("zzzzzzzz", names), "");
}

// Would fail if the write renamed a file over what is no regular file.
TEST(File, ADeviceIsWrittenToAndNotReplaced) {
  const auto folder = std::filesystem::temp_directory_path() / "headway_file_test";
  std::filesystem::create_directories(folder);
  std::filesystem::remove(folder / "null");
  std::filesystem::create_symlink("/dev/null", folder / "null");
  EXPECT_NO_THROW(write_file_atomic(folder / "null", "text"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "null"));
  EXPECT_THROW(write_file_atomic(folder, "text"), EnvironmentError);
  write_file_atomic(folder / "file", "text");
  EXPECT_EQ(read_file(folder / "file"), "text");
  std::filesystem::remove_all(folder);
}

// 96 MiB that were used and given back must not count any more; a peak that was never reset would.
TEST(Environment, PeakMemoryCanBeginAnew) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps what is freed";
#endif
  constexpr std::size_t kSize = std::size_t{96} << 20;
  { const std::vector<char> used(kSize, 1); }
  const Bytes before = peak_resident_bytes();
  ASSERT_GT(before.value, static_cast<std::int64_t>(kSize));
  forget_peak_resident();
  const Bytes after = peak_resident_bytes();
  if (after == before) GTEST_SKIP() << "this kernel does not let a process reset its peak";
  EXPECT_LT(after.value, before.value - static_cast<std::int64_t>(kSize / 2));
}

TEST(Error, CheckNamesPlaceAndValues) {
  const int value = 3;
  try {
    HEADWAY_CHECK(value == 4, "value is " + std::to_string(value));
    FAIL() << "did not throw";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("base_test.cpp"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("value is 3"), std::string::npos);
  }
}

}  // namespace
}  // namespace headway
