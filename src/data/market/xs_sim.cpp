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

CrossSections::CrossSections(std::int64_t days, std::int64_t instruments, std::int64_t features, std::uint64_t seed)
    : days_(days), instruments_(instruments), features_(features), seed_(seed) {
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

void CrossSections::read(std::int64_t index, std::span<std::byte* const> fields) const {
  const auto day = static_cast<std::uint32_t>(index);
  const auto normal = [&](std::uint64_t element) {
    return static_cast<double>(random_normal(seed_, kStream, day, element));
  };
  auto* input = reinterpret_cast<float*>(fields[0]);
  auto* target = reinterpret_cast<float*>(fields[1]);
  const double mood = normal(0);
  for (std::int64_t instrument = 0; instrument < instruments_; ++instrument) {
    const std::uint64_t first = (static_cast<std::uint64_t>(instrument) + 1) * kNormalsEach;
    float* x = input + instrument * features_;
    const std::size_t offset = random_bits(seed_, kOffsetStream, day, first) % kTableSize;
    std::memcpy(x, table_.data() + offset, static_cast<std::size_t>(features_) * sizeof(float));
    const double x0 = normal(first), own = normal(first + 1), x2 = normal(first + 2);
    x[0] = static_cast<float>(x0);
    x[1] = static_cast<float>(0.6 * mood + 0.8 * own);
    x[2] = static_cast<float>(x2);
    target[instrument] = static_cast<float>((x0 + mood * x2) / 2 + std::sqrt(0.5) * normal(first + 3));
  }
}

std::string CrossSections::description() const {
  return fmt::format(
      "xs_sim: {} days of {} instruments with {} features, a quarter of the variance from their own, a "
      "quarter from all",
      days_, instruments_, features_);
}

}  // namespace headway::data
