// Rows of features whose history predicts the next return, as far as is known exactly.
#pragma once

#include <cstdint>

#include "data/market/table.h"

namespace headway::data {

inline constexpr std::int64_t kSeriesSignalFeatures = 5;
// The share of the next return's variance that the history of the features explains: the best R2 there is.
inline constexpr double kSeriesBestR2 = 0.3;

// Features f, t the row: 0, 1 and 4 are white noise; 2 and 3 have the autocorrelation 0.5; the others carry nothing and
// have autocorrelations of 0, 0.5 and 0.9. All are standard normal. The return from row t to t + 1 is
//
//   0.001 (sqrt(0.3) s + sqrt(0.7) noise),   s = (ema(x0, 0.9) + ema(x1, 0.8) + x2 x3 + x4[t - 10]) / 2,
//
// each term scaled to variance 1: two of them need a memory of ten rows, one a product, one a lag. A linear model of
// the last row alone explains 2 % (through the ends of the two averages); the price begins each day at 100. A day is a
// pure function of (seed, day). UserError for fewer than five features.
Table series_table(std::uint64_t seed, std::int64_t days, std::int64_t rows, std::int64_t features);

}  // namespace headway::data
