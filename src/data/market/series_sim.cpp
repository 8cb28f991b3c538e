#include "data/market/series_sim.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace headway::data {
namespace {

constexpr std::uint32_t kFeatureStream = 0x53455246;  // "SERF"
constexpr std::uint32_t kNoiseStream = 0x5345524E;    // "SERN"
constexpr std::int64_t kLag = 10;
constexpr double kReturn = 1e-3;

double autocorrelation(std::int64_t feature) {
  if (feature == 2 || feature == 3) return 0.5;
  if (feature < kSeriesSignalFeatures) return 0;
  constexpr std::array<double, 3> kOthers = {0, 0.5, 0.9};
  return kOthers[static_cast<std::size_t>(feature) % kOthers.size()];
}

// An exponential average of white noise, scaled to variance 1.
struct Average {
  double decay;
  double value = 0;
  double next(double x) {
    value = decay * value + (1 - decay) * x;
    return value * std::sqrt((1 + decay) / (1 - decay));
  }
};

void fill_day(std::uint64_t seed, std::int64_t day, std::int64_t rows, std::int64_t width, float* features,
              double* price) {
  Average slow{0.9}, fast{0.8};
  double log_price = std::log(100.0);
  const auto step = static_cast<std::uint32_t>(day);
  for (std::int64_t row = 0; row < rows; ++row) {
    float* x = features + row * width;
    for (std::int64_t feature = 0; feature < width; ++feature) {
      const auto fresh = random_normal(seed, kFeatureStream, step, static_cast<std::uint64_t>(row * width + feature));
      const double memory = autocorrelation(feature);
      x[feature] = row == 0 ? fresh
                            : static_cast<float>(memory * static_cast<double>(x[feature - width]) +
                                                 std::sqrt(1 - memory * memory) * static_cast<double>(fresh));
    }
    price[row] = std::exp(log_price);
    const double lagged = row >= kLag ? static_cast<double>(x[4 - kLag * width]) : 0;
    const double signal = (slow.next(static_cast<double>(x[0])) + fast.next(static_cast<double>(x[1])) +
                           static_cast<double>(x[2]) * static_cast<double>(x[3]) + lagged) /
                          2;
    const auto noise = static_cast<double>(random_normal(seed, kNoiseStream, step, static_cast<std::uint64_t>(row)));
    log_price += kReturn * (std::sqrt(kSeriesBestR2) * signal + std::sqrt(1 - kSeriesBestR2) * noise);
  }
}

}  // namespace

Table series_table(std::uint64_t seed, std::int64_t days, std::int64_t rows, std::int64_t features) {
  if (features < kSeriesSignalFeatures) {
    throw UserError(fmt::format("series_sim: {} features, at least {} are needed", features, kSeriesSignalFeatures));
  }
  return memory_table("series_sim", days, rows, features, [&](std::int64_t day, float* at, double* price) {
    fill_day(seed, day, rows, features, at, price);
  });
}

}  // namespace headway::data
