#include "base/statistics.h"

#include <algorithm>
#include <cmath>

namespace headway {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
  if (samples.empty()) return 0;
  const std::vector<double> values = sorted(samples);
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

Interval median_interval(std::span<const double> samples) {
  if (samples.empty()) return {};
  const std::vector<double> values = sorted(samples);
  const double n = static_cast<double>(values.size());
  if (values.size() < 6) return {values.front(), values.back()};
  const double half_width = 1.96 * std::sqrt(n) / 2.0;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2.0 - half_width)));
  const auto high = static_cast<std::size_t>(std::min(n - 1.0, std::ceil(n / 2.0 + half_width)));
  return {values[low], values[high]};
}

double median_relative_error(std::span<const double> samples) {
  const double middle = median(samples);
  if (middle == 0) return 0;
  const Interval interval = median_interval(samples);
  return (interval.high - interval.low) / 2.0 / std::abs(middle);
}

std::size_t warmup_length(std::span<const double> samples, double tolerance) {
  for (std::size_t drop = 0; drop < samples.size() / 2; ++drop) {
    const std::span<const double> rest = samples.subspan(drop);
    const std::size_t quarter = std::max<std::size_t>(1, rest.size() / 4);
    const double early = median(rest.first(quarter)), late = median(rest.subspan(quarter));
    if (std::abs(early - late) <= tolerance * late && rest.front() <= (1 + 4 * tolerance) * late) return drop;
  }
  return samples.size() / 2;
}

}  // namespace headway
