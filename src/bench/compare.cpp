#include "bench/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"

namespace headway::bench {
namespace {

constexpr std::size_t kMost = 400;  // samples of a side: 160,000 pairs

// At most kMost order statistics, evenly spaced.
std::vector<double> thinned(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() <= kMost) return sorted;
  std::vector<double> result;
  for (std::size_t index = 0; index < kMost; ++index) {
    result.push_back(quantile(sorted, (static_cast<double>(index) + 0.5) / static_cast<double>(kMost)));
  }
  return result;
}

double half_quartile_distance(std::span<const double> samples) {
  const double middle = median(samples);
  return middle > 0 ? 0.5 * (quantile(samples, 0.75) - quantile(samples, 0.25)) / middle : 0;
}

Verdict verdict_of(const Comparison& comparison) {
  const double floor = 1 + comparison.noise_floor;
  if (comparison.low > 1 && comparison.ratio > floor) return Verdict::kFaster;
  if (comparison.high < 1 && comparison.ratio < 1 / floor) return Verdict::kSlower;
  if (comparison.low >= 1 / floor && comparison.high <= floor) return Verdict::kSame;
  return Verdict::kAmbiguous;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "FASTER";
    case Verdict::kSlower:
      return "SLOWER";
    case Verdict::kSame:
      return "SAME";
    case Verdict::kAmbiguous:
      break;
  }
  return "AMBIGUOUS";
}

Comparison compare_times(std::span<const double> a, std::span<const double> b, double least_floor) {
  HEADWAY_CHECK(!a.empty() && !b.empty(), "nothing to compare");
  const std::vector<double> first = thinned(a), second = thinned(b);
  std::vector<double> ratios;
  ratios.reserve(first.size() * second.size());
  for (const double x : first) {
    for (const double y : second) ratios.push_back(x / y);
  }
  std::sort(ratios.begin(), ratios.end());

  const auto n = static_cast<double>(first.size()), m = static_cast<double>(second.size());
  constexpr double kNormal = 1.96;  // two-sided 95 %
  const double below = std::floor(n * m / 2 - kNormal * std::sqrt(n * m * (n + m + 1) / 12));
  const auto skip = static_cast<std::size_t>(std::max(0.0, below));
  Comparison result;
  result.ratio = median(ratios);
  result.low = ratios[skip];
  result.high = ratios[ratios.size() - 1 - skip];
  result.noise_floor = std::max({least_floor, half_quartile_distance(a), half_quartile_distance(b)});
  result.verdict = verdict_of(result);
  return result;
}

}  // namespace headway::bench
