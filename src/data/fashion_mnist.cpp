#include "data/fashion_mnist.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstring>

#include "base/error.h"
#include "data/idx.h"

namespace headway::data {
namespace {

constexpr const char* kPackageDirectory = "/usr/share/datasets/fashion-mnist";
constexpr std::int64_t kPixels = FashionMnist::kSide * FashionMnist::kSide;

// The file `name` or `name`.gz.
std::filesystem::path find(const std::filesystem::path& directory, const std::string& name) {
  for (const char* ending : {".gz", ""}) {
    std::error_code unreadable;
    const std::filesystem::path path = directory / (name + ending);
    if (std::filesystem::exists(path, unreadable)) return path;
  }
  throw EnvironmentError(
      fmt::format("fashion_mnist: no {}.gz in {}; apt-get install dataset-fashion-mnist", name, directory.string()));
}

}  // namespace

FashionMnist::FashionMnist(FashionMnistPart part, const std::filesystem::path& directory)
    : part_(part), fields_(input_and_target(DType::kF32, Shape{kSide, kSide, 1}, DType::kI32, Shape{})) {
  if (!directory.empty() && !std::filesystem::is_directory(directory)) {
    throw UserError(fmt::format("fashion_mnist: no such directory: {}", directory.string()));
  }
  const std::filesystem::path from = directory.empty() ? kPackageDirectory : directory;
  const std::string prefix = part == FashionMnistPart::kTrain ? "train" : "t10k";
  const std::filesystem::path image_file = find(from, prefix + "-images-idx3-ubyte");
  const std::filesystem::path label_file = find(from, prefix + "-labels-idx1-ubyte");
  IdxArray images = read_idx(image_file, 3);
  IdxArray labels = read_idx(label_file, 1);

  if (images.dims[1] != kSide || images.dims[2] != kSide) {
    throw UserError(
        fmt::format("{}: images of {} x {}, not 28 x 28", image_file.string(), images.dims[1], images.dims[2]));
  }
  if (images.dims[0] != labels.dims[0]) {
    throw UserError(fmt::format("{} has {} images, {} has {} labels", image_file.string(), images.dims[0],
                                label_file.string(), labels.dims[0]));
  }
  for (std::size_t sample = 0; sample < labels.values.size(); ++sample) {
    if (const auto label = static_cast<unsigned char>(labels.values[sample]); label >= kClasses) {
      throw UserError(
          fmt::format("{}: the label of sample {} is {}, not in 0 to 9", label_file.string(), sample, label));
    }
  }
  pixels_ = std::move(images.values);
  labels_ = std::move(labels.values);
  for (std::size_t pixel = 0; pixel < standardised_.size(); ++pixel) {
    standardised_[pixel] = (static_cast<float>(pixel) / 255.0F - kMean) / kDeviation;
  }
}

void FashionMnist::read(std::int64_t index, std::span<std::byte* const> fields) const {
  const char* pixels = pixels_.data() + index * kPixels;
  auto* input = reinterpret_cast<float*>(fields[0]);
  for (std::int64_t at = 0; at < kPixels; ++at) input[at] = standardised_[static_cast<unsigned char>(pixels[at])];
  const std::int32_t label = labels_[static_cast<std::size_t>(index)];
  std::memcpy(fields[1], &label, sizeof(label));
}

std::string FashionMnist::description() const {
  return fmt::format("Fashion-MNIST {}: {} images of [28, 28, 1] in {} classes",
                     part_ == FashionMnistPart::kTrain ? "train" : "test", size(), kClasses);
}

}  // namespace headway::data
