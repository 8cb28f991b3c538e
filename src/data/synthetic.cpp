#include "data/synthetic.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "base/error.h"
#include "base/rng.h"

namespace headway::data {
namespace {

constexpr std::size_t kTableSize = std::size_t{1} << 18;  // 1 MiB: stays in the second-level cache
constexpr std::uint32_t kTableStream = 0x53595442;        // "SYTB"
constexpr std::uint32_t kRowStream = 0x5359524F;          // "SYRO"
static_assert((kTableSize & (kTableSize - 1)) == 0);

}  // namespace

SyntheticRows::SyntheticRows(std::int64_t rows, std::int64_t features, std::uint64_t seed)
    : rows_(rows), features_(features), seed_(seed) {
  if (features < kSignalFeatures) {
    throw UserError(fmt::format("synthetic: {} features, at least {} are needed", features, kSignalFeatures));
  }
  if (rows < 1) throw UserError(fmt::format("synthetic: {} rows, at least 1 is needed", rows));
  fields_ = input_and_target(DType::kF32, Shape{features}, DType::kF32, Shape{1});
  table_.resize(kTableSize + static_cast<std::size_t>(features - kSignalFeatures));
  for (std::size_t index = 0; index < table_.size(); ++index) {
    table_[index] = random_normal(seed, kTableStream, 0, index);
  }
}

float SyntheticRows::signal(std::span<const float> features) {
  static const double sine_deviation = std::sqrt((1.0 - std::exp(-8.0)) / 2.0);
  const double x0 = features[0], x1 = features[1], x2 = features[2], x3 = features[3], x4 = features[4];
  const double terms = x0 + x1 * x2 + std::sin(2.0 * x3) / sine_deviation + (x4 * x4 - 1.0) / std::numbers::sqrt2;
  return static_cast<float>(terms / 2.0);
}

void SyntheticRows::read(std::int64_t index, std::span<std::byte* const> fields) const {
  const auto row = static_cast<std::uint64_t>(index);
  const auto block = [&](std::uint32_t number) {
    return philox(seed_, {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), kRowStream, number});
  };
  const PhiloxBlock first = block(0), second = block(1);
  auto* input = reinterpret_cast<float*>(fields[0]);
  const auto* table = table_.data();
  for (std::size_t feature = 0; feature < 4; ++feature) input[feature] = table[first[feature] & (kTableSize - 1)];
  input[4] = table[second[0] & (kTableSize - 1)];
  const float noise = table[second[1] & (kTableSize - 1)];
  std::memcpy(input + kSignalFeatures, table + (second[2] & (kTableSize - 1)),
              static_cast<std::size_t>(features_ - kSignalFeatures) * sizeof(float));

  static const auto noise_deviation = static_cast<float>(std::sqrt(kNoiseVariance));
  const float target = signal({input, static_cast<std::size_t>(features_)}) + noise_deviation * noise;
  std::memcpy(fields[1], &target, sizeof(target));
}

std::string SyntheticRows::description() const {
  return fmt::format("synthetic: {} rows of {} normal features; a signal of variance {} in {} of them, noise of {}",
                     rows_, features_, kSignalVariance, kSignalFeatures, kNoiseVariance);
}

}  // namespace headway::data
