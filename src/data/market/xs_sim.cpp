#include "data/market/xs_sim.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/rng.h"

namespace headway::data {
namespace {

constexpr std::uint32_t kStream = 0x58534D44;        // "XSMD"
constexpr std::uint32_t kTableStream = 0x58535442;   // "XSTB"
constexpr std::uint32_t kOffsetStream = 0x58534F46;  // "XSOF"
constexpr std::size_t kTableSize = std::size_t{1} << 18;
constexpr std::uint64_t kNormalsEach = 8;  // drawn for an instrument: three features, the noise, where its table begins

}  // namespace

CrossSections::CrossSections(std::int64_t first_day, std::int64_t days, std::int64_t instruments, std::int64_t features,
                             std::uint64_t seed)
    : first_day_(first_day), days_(days), instruments_(instruments), features_(features), seed_(seed) {
  if (features < kSignalFeatures || instruments < 1 || days < 1) {
    throw UserError(fmt::format("xs_sim: {} days of {} instruments with {} features; at least 1, 1 and {} are needed",
                                days, instruments, features, kSignalFeatures));
  }
  fields_ = input_and_target(DType::kF32, Shape{instruments, features}, DType::kF32, Shape{instruments, 1});
  table_.resize(kTableSize + static_cast<std::size_t>(features));
  for (std::size_t index = 0; index < table_.size(); ++index) {
    table_[index] = random_normal(seed, kTableStream, 0, index);
  }
}

double CrossSections::mood(std::int64_t day) const {
  return static_cast<double>(random_normal(seed_, kStream, static_cast<std::uint32_t>(day), 0));
}

CrossSections::Instrument CrossSections::instrument(std::int64_t day, double mood, std::int64_t number) const {
  const std::uint64_t first = (static_cast<std::uint64_t>(number) + 1) * kNormalsEach;
  const auto normal = [&](std::uint64_t element) {
    return static_cast<double>(random_normal(seed_, kStream, static_cast<std::uint32_t>(day), element));
  };
  const double x0 = normal(first), own = normal(first + 1), x2 = normal(first + 2);
  return {.x0 = x0,
          .x1 = 0.6 * mood + 0.8 * own,
          .x2 = x2,
          .target = (x0 + mood * x2) / 2 + std::sqrt(0.5) * normal(first + 3)};
}

void CrossSections::read(std::int64_t index, std::span<std::byte* const> fields) const {
  const std::int64_t day = first_day_ + index;
  auto* input = reinterpret_cast<float*>(fields[0]);
  auto* target = reinterpret_cast<float*>(fields[1]);
  const double mood_of_day = mood(day);
  for (std::int64_t number = 0; number < instruments_; ++number) {
    float* x = input + number * features_;
    const std::size_t offset = random_bits(seed_, kOffsetStream, static_cast<std::uint32_t>(day),
                                           (static_cast<std::uint64_t>(number) + 1) * kNormalsEach) %
                               kTableSize;
    std::memcpy(x, table_.data() + offset, static_cast<std::size_t>(features_) * sizeof(float));
    const Instrument made = instrument(day, mood_of_day, number);
    x[0] = static_cast<float>(made.x0);
    x[1] = static_cast<float>(made.x1);
    x[2] = static_cast<float>(made.x2);
    target[number] = static_cast<float>(made.target);
  }
}

Baseline CrossSections::baseline() const {
  double sum = 0, squares = 0;
  for (std::int64_t day = first_day_; day < first_day_ + days_; ++day) {
    const double mood_of_day = mood(day);
    for (std::int64_t number = 0; number < instruments_; ++number) {
      const double target = instrument(day, mood_of_day, number).target;
      sum += target;
      squares += target * target;
    }
  }
  const auto count = static_cast<double>(days_ * instruments_);
  return {.loss = squares / count - (sum / count) * (sum / count)};
}

std::string CrossSections::description() const {
  return fmt::format(
      "xs_sim: {} days of {} instruments with {} features, a quarter of the variance from their own, a "
      "quarter from all",
      days_, instruments_, features_);
}

}  // namespace headway::data
