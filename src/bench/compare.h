// Which of two series of step times is faster, and whether that can be said at all.
#pragma once

#include <span>
#include <string_view>

namespace headway::bench {

enum class Verdict { kFaster, kSlower, kSame, kAmbiguous };

// "FASTER", "SLOWER", "SAME", "AMBIGUOUS".
std::string_view name_of(Verdict verdict);

struct Comparison {
  double ratio = 1;                       // time of a over time of b: above 1, b is faster
  double low = 1, high = 1;               // its 95 % interval
  double noise_floor = 0;                 // a smaller difference than this means nothing
  Verdict verdict = Verdict::kAmbiguous;  // of b
};

// The ratio is the Hodges-Lehmann estimate on logarithms (the median of all a_i / b_j) and the interval the one that
// belongs to the Mann-Whitney test (Conover, "Practical Nonparametric Statistics", section 5.4), so neither outliers
// nor the shape of the distributions matter. b is faster or slower when the interval leaves out 1 and the ratio differs
// from it by more than the floor; the same when the whole interval lies within the floor; else it is ambiguous. The
// floor is `least_floor`, or half the relative distance between the quartiles of the noisier side where that is more:
// steps of one run are no independent samples, and two runs differ by as much as the steps of one. Neither side may be
// empty.
Comparison compare_times(std::span<const double> a, std::span<const double> b, double least_floor = 0.02);

}  // namespace headway::bench
