// Order statistics of samples.
#pragma once

#include <span>
#include <vector>

namespace headway {

// Quantile q in [0, 1] by linear interpolation between order statistics; 0 for no samples.
double quantile(std::span<const double> samples, double q);

inline double median(std::span<const double> samples) {
  return quantile(samples, 0.5);
}

struct Interval {
  double low = 0;
  double high = 0;
};

// Distribution-free confidence interval of the median from order statistics: the ranks of the binomial(n, 1/2) at
// about 95 % (Conover, "Practical Nonparametric Statistics", section 3.2). [min, max] for fewer than 6 samples.
Interval median_interval(std::span<const double> samples);

// Half the width of median_interval over the median; 0 when the median is 0.
double median_relative_error(std::span<const double> samples);

// Least number of leading samples to drop so that what remains has no start-up trend: the smallest prefix after which
// the first quarter's median is within `tolerance` of the rest's. At most half of the samples.
std::size_t warmup_length(std::span<const double> samples, double tolerance);

}  // namespace headway
