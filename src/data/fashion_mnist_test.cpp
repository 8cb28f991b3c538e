#include "data/fashion_mnist.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

std::string header(std::initializer_list<int> dims) {
  std::string bytes("\0\0\x08", 3);
  bytes += static_cast<char>(dims.size());
  for (const int dim : dims) bytes += {0, 0, static_cast<char>(dim >> 8), static_cast<char>(dim)};
  return bytes;
}

// Three images, of which pixel p of image i is 80 * i + p % 80.
class SmallFashionMnist : public ::testing::Test {
 protected:
  SmallFashionMnist() {
    std::string images = header({3, 28, 28});
    for (int at = 0; at < 3 * 784; ++at) images += static_cast<char>(80 * (at / 784) + at % 784 % 80);
    folder_.write("t10k-images-idx3-ubyte", images);
    folder_.write("t10k-labels-idx1-ubyte", header({3}) + std::string("\x09\x00\x04", 3));
  }
  template <class Error>
  std::string failure() {
    return message_of<Error>([&] { FashionMnist(FashionMnistPart::kTest, folder_.path()); });
  }
  TemporaryFolder folder_;
};

TEST_F(SmallFashionMnist, StandardisesPixels) {
  const FashionMnist set(FashionMnistPart::kTest, folder_.path());
  ASSERT_EQ(set.size(), 3);
  const std::vector<std::int32_t> labels = {9, 0, 4};
  for (std::int64_t index = 0; index < 3; ++index) {
    const Sample sample(set, index);
    EXPECT_EQ(sample.as<std::int32_t>(1)[0], labels[static_cast<std::size_t>(index)]);
    for (std::size_t pixel = 0; pixel < 784; ++pixel) {
      const double grey = 80.0 * static_cast<double>(index) + static_cast<double>(pixel % 80);
      EXPECT_NEAR(sample.as<float>(0)[pixel], (grey / 255 - 0.2860) / 0.3530, 1e-6);
    }
  }
  EXPECT_EQ(set.fields(),
            (std::vector<Field>{{"input", DType::kF32, Shape{28, 28, 1}}, {"target", DType::kI32, Shape{}}}));
  EXPECT_EQ(set.description(), "Fashion-MNIST test: 3 images of [28, 28, 1] in 10 classes");
}

TEST_F(SmallFashionMnist, NamesALabelOutOfRange) {
  folder_.write("t10k-labels-idx1-ubyte", header({3}) + "\x09\x01\x0a");
  expect_mentions(failure<UserError>(), {"t10k-labels", "sample 2 is 10", "0 to 9"});
  folder_.write("t10k-labels-idx1-ubyte", header({3}) + "\x09\xff\x01");
  expect_mentions(failure<UserError>(), {"sample 1 is 255"});
}

TEST_F(SmallFashionMnist, ExplainsFilesThatDoNotFit) {
  folder_.write("t10k-labels-idx1-ubyte", header({2}) + "\x09\x01");
  expect_mentions(failure<UserError>(), {"3 images", "2 labels", "t10k-labels", "t10k-images"});
  folder_.write("t10k-images-idx3-ubyte", header({1, 2, 3}) + "abcdef");
  expect_mentions(failure<UserError>(), {"2 x 3", "28 x 28"});
  folder_.write("t10k-images-idx3-ubyte", header({3, 28, 28}) + "abcdef");
  expect_mentions(failure<UserError>(), {"cut short", "6 bytes", "[3, 28, 28] needs 2352"});
}

TEST_F(SmallFashionMnist, SaysWhatToInstallOrWhichFolderIsMissing) {
  expect_mentions(message_of<EnvironmentError>([&] { FashionMnist(FashionMnistPart::kTrain, folder_.path()); }),
                  {"train-images-idx3-ubyte", folder_.path().string(), "apt-get install dataset-fashion-mnist"});
  expect_mentions(message_of<UserError>([&] { FashionMnist(FashionMnistPart::kTrain, folder_.path() / "no"); }),
                  {"no such directory", folder_.path().string() + "/no"});
}

// The package itself, and the constants of its standardisation.
TEST(FashionMnist, IsTheKnownDataSet) {
  const FashionMnist train(FashionMnistPart::kTrain), test(FashionMnistPart::kTest);
  ASSERT_EQ(train.size(), 60000);
  ASSERT_EQ(test.size(), 10000);
  double sum = 0, squares = 0;
  std::array<int, FashionMnist::kClasses> counts{};
  for (std::int64_t index = 0; index < train.size(); ++index) {
    const Sample sample(train, index);
    for (const float value : sample.as<float>(0)) {
      const double grey = double{value} * FashionMnist::kDeviation + FashionMnist::kMean;
      sum += grey;
      squares += grey * grey;
    }
    ++counts[static_cast<std::size_t>(sample.as<std::int32_t>(1)[0])];
  }
  const double mean = sum / (60000.0 * 784), deviation = std::sqrt(squares / (60000.0 * 784) - mean * mean);
  EXPECT_NEAR(mean, FashionMnist::kMean, 0.00005);
  EXPECT_NEAR(deviation, FashionMnist::kDeviation, 0.00005);
  for (const int count : counts) EXPECT_EQ(count, 6000);
  EXPECT_EQ(Sample(train, 0).as<std::int32_t>(1)[0], 9);  // the first one is an ankle boot
}

}  // namespace
}  // namespace headway::data
