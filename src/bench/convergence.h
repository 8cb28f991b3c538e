// How long training takes to its target, over several seeds, and whether that is honestly so few epochs.
#pragma once

#include <cstdint>
#include <span>

namespace headway::bench {

// The mean without the least and the largest value ("olympic"); of all values when there are fewer than three. NaN for
// none.
double olympic_mean(std::span<const double> values);

// The least olympic mean of `runs` runs that still passes for the same training as the reference runs: MLPerf's
// reference convergence point test (rules of MLPerf Training, "Reference Convergence Points"). A one-sided t-test at
// significance `p` of two olympic means with the reference's deviation for both:
//   limit = mean - t(1 - p; n + r - 2) s sqrt(1 / n + 1 / r),
// n = reference runs - 2, r = runs - 2, s the deviation (divisor n) of the reference runs without the least and
// largest. Fewer epochs than that were not reached by luck: another optimizer, or a target that is easier to meet.
// Needs three reference runs and three runs at least.
double convergence_limit(std::span<const double> reference, std::int64_t runs, double p = 0.05);

}  // namespace headway::bench
