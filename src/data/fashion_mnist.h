// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 60,000 training and 10,000 test images of clothes in ten classes, 28 x 28
// grey. Real data that a stock Debian has as a package: dataset-fashion-mnist.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "data/dataset.h"

namespace headway::data {

enum class FashionMnistPart : std::uint8_t { kTrain, kTest };

// input f32 [28, 28, 1] (channels last), (pixel / 255 - mean) / deviation of the training set; target i32 [], 0 to 9.
// Kept in memory as bytes, 47 MB for the training set instead of 188 in f32; read() converts through a table.
class FashionMnist : public Dataset {
 public:
  // Mean and deviation of pixel / 255 over the training set, to four digits; the test computes them.
  static constexpr float kMean = 0.2860F;
  static constexpr float kDeviation = 0.3530F;
  static constexpr std::int64_t kSide = 28;
  static constexpr int kClasses = 10;

  // Reads the IDX files of one part from `directory`, .gz or plain; "": where the Debian package puts them.
  // EnvironmentError when a file is missing; UserError for no such directory, a corrupt file, or a label over 9.
  explicit FashionMnist(FashionMnistPart part, const std::filesystem::path& directory = {});

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override;
  std::string description() const override;

 private:
  FashionMnistPart part_;
  std::vector<Field> fields_;
  std::string pixels_;
  std::string labels_;
  std::array<float, 256> standardised_;  // by pixel value
};

}  // namespace headway::data
