#include "bench/convergence.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace headway::bench {
namespace {

std::vector<double> without_extremes(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() < 3) return sorted;
  return {sorted.begin() + 1, sorted.end() - 1};
}

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double olympic_mean(std::span<const double> values) {
  return mean_of(without_extremes(values));
}

double convergence_limit(std::span<const double> reference, std::int64_t runs, double p) {
  HEADWAY_CHECK(reference.size() >= 3 && runs >= 3, "the convergence test needs three runs a side");
  const std::vector<double> kept = without_extremes(reference);
  const double mean = mean_of(kept);
  double squares = 0;
  for (const double value : kept) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(kept.size()), r = static_cast<double>(runs - 2);
  const double deviation = std::sqrt(squares / n);
  if (deviation == 0) return mean;
  HEADWAY_CHECK(n + r > 2, "the convergence test has no degree of freedom");
  const double t = boost::math::quantile(boost::math::students_t(n + r - 2), 1 - p);
  return mean - t * deviation * std::sqrt(1 / n + 1 / r);
}

}  // namespace headway::bench
