#include "data/market/windows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "data/market/series_sim.h"
#include "data/market/sources.h"
#include "data/market/xs_sim.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

// Feature f of row r of a day is 10 * (row of the table) + f; the price rises by one a row, or follows `price`.
Table counting_table(std::int64_t days, std::int64_t rows, std::int64_t width, double (*price)(std::int64_t row)) {
  return memory_table("counting", days, rows, width, [&](std::int64_t day, float* features, double* prices) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t feature = 0; feature < width; ++feature) {
        features[row * width + feature] = static_cast<float>(10 * (day * rows + row) + feature);
      }
      prices[row] = price(day * rows + row);
    }
  });
}

double rising(std::int64_t row) {
  return 100 + static_cast<double>(row);
}
// Up for ten rows, flat for ten, down for ten, flat for ten.
double hills(std::int64_t row) {
  const std::int64_t at = row % 40;
  return 100 + static_cast<double>(at < 10 ? at : at < 20 ? 10 : at < 30 ? 30 - at : 0);
}

const MarketWindows& windows_of(const std::unique_ptr<Dataset>& dataset) {
  return dynamic_cast<const MarketWindows&>(*dataset);
}

TEST(MarketWindows, AWindowIsItsRows) {
  const Table table = counting_table(2, 50, 3, hills);
  const auto split = split_windows(table, {.window = 11, .stride = 2, .horizon = 4, .normalise = Normalise::kNone});
  // Anchors 10, 12 ... 45 of each day: 18 each.
  ASSERT_EQ(split.train->size(), 36);
  EXPECT_EQ(split.train->fields()[0], (Field{"input", DType::kF32, {11, 3}}));
  EXPECT_EQ(split.train->fields()[1], (Field{"target", DType::kI32, {}}));
  for (const auto& [index, last] : {std::pair{0, 10}, {17, 44}, {18, 60}, {35, 94}}) {
    EXPECT_EQ(windows_of(split.train).anchor(index), last);
    const Sample sample(*split.train, index);
    for (int value = 0; value < 33; ++value) {
      const auto expected = static_cast<float>(10 * (last - 10 + value / 3) + value % 3);
      ASSERT_EQ(sample.as<float>(0)[static_cast<std::size_t>(value)], expected);
    }
  }
}

TEST(MarketWindows, LabelsOfDirection) {
  const Table table = counting_table(1, 80, 1, hills);
  const auto label = [&](LabelKind kind, std::int64_t row) {
    const auto split = split_windows(table, {.window = 2, .horizon = 4, .label = kind, .alpha = 0.001});
    return windows_of(split.train).label(row);
  };
  // Against the price itself: rises from 5 (105 to a mean of 107.5), stays from 12, falls from 22, stays from 32.
  EXPECT_EQ(label(LabelKind::kDirection, 5), 2);
  EXPECT_EQ(label(LabelKind::kDirection, 12), 1);
  EXPECT_EQ(label(LabelKind::kDirection, 22), 0);
  EXPECT_EQ(label(LabelKind::kDirection, 32), 1);
  // At the edge of the plain the next four stay, but the mean of the last four was lower.
  EXPECT_EQ(label(LabelKind::kDirection, 11), 1);
  EXPECT_EQ(label(LabelKind::kSmoothDirection, 11), 2);
  // A threshold over every move leaves none.
  const auto split = split_windows(table, {.window = 2, .horizon = 4, .alpha = 1.0});
  EXPECT_EQ(windows_of(split.train).label(5), 1);
}

TEST(MarketWindows, WithoutAlphaAThirdStays) {
  const Table table = lob_table({.seed = 2}, 1, 5000);
  const auto split = split_windows(table, {.window = 20, .horizon = 50});
  std::array<double, 3> counts = {};
  for (std::int64_t index = 0; index < split.train->size(); ++index) {
    ++counts[static_cast<std::size_t>(Sample(*split.train, index).as<std::int32_t>(1)[0])];
  }
  EXPECT_NEAR(counts[1] / static_cast<double>(split.train->size()), 1.0 / 3, 0.05);
  const double commonest = *std::max_element(counts.begin(), counts.end()) / static_cast<double>(split.train->size());
  EXPECT_EQ(split.train->baseline().accuracy, commonest);
  EXPECT_LT(commonest, 0.45);
}

TEST(MarketWindows, ReturnsHaveUnitVarianceInTraining) {
  const Table table = series_table(7, 4, 2000, 20);
  const auto split = split_windows(table, {.window = 60, .label = LabelKind::kReturn, .valid = 0.25});
  EXPECT_NEAR(*split.train->baseline().loss, 1.0, 1e-6);
  EXPECT_NEAR(*split.valid->baseline().loss, 1.0, 0.15);
  const Sample sample(*split.train, 100);
  const double expected = std::log(table.price[160] / table.price[159]);
  const double deviation = expected / static_cast<double>(sample.as<float>(1)[0]);
  EXPECT_NEAR(deviation, 1e-3, 1e-4);
}

TEST(MarketWindows, ATargetForEveryStep) {
  const Table table = series_table(7, 2, 300, 8);
  WindowOptions options = {.window = 16, .horizon = 3, .label = LabelKind::kReturn};
  const auto last = split_windows(table, options);
  options.every_step = true;
  const auto every = split_windows(table, options);
  EXPECT_EQ(every.train->fields()[1], (Field{"target", DType::kF32, {16, 1}}));
  ASSERT_EQ(last.train->size(), every.train->size());
  for (std::int64_t index = 0; index < 20; ++index) {
    const Sample sample(*every.train, index + 15);
    for (std::int64_t step = 0; step < 16; ++step) {
      EXPECT_EQ(sample.as<float>(1)[static_cast<std::size_t>(step)], Sample(*last.train, index + step).as<float>(1)[0]);
    }
  }
}

TEST(MarketWindows, TrainingStatisticsStandardise) {
  const Table table = lob_table({.seed = 6}, 4, 2000);
  const auto split = split_windows(table, {.window = 100, .stride = 100, .horizon = 10, .valid = 0.25});
  std::vector<double> sum(40), squares(40);
  double rows = 0;
  for (std::int64_t index = 0; index < split.train->size(); ++index) {
    const Sample sample(*split.train, index);
    for (std::size_t value = 0; value < 4000; ++value) {
      const auto at = static_cast<double>(sample.as<float>(0)[value]);
      sum[value % 40] += at;
      squares[value % 40] += at * at;
    }
    rows += 100;
  }
  for (std::size_t feature = 0; feature < 40; ++feature) {
    EXPECT_NEAR(sum[feature] / rows, 0, 0.1);
    EXPECT_NEAR(squares[feature] / rows, 1, 0.2);
  }
}

// What validation and test hold must not reach training: change every validation row, and no training sample differs.
TEST(MarketWindows, NothingOfTheValidationPartReachesTraining) {
  for (const std::int64_t days : {1, 4}) {
    for (const LabelKind label : {LabelKind::kDirection, LabelKind::kSmoothDirection, LabelKind::kReturn}) {
      const auto fill = [&](double disturbance) {
        return memory_table("disturbed", days, 1200 / days, 4, [&](std::int64_t day, float* features, double* prices) {
          const Table clean = series_table(1, days, 1200 / days, 5);
          for (std::int64_t row = 0; row < 1200 / days; ++row) {
            const std::int64_t at = day * (1200 / days) + row;
            const double added = at >= 900 ? disturbance : 0;
            for (std::int64_t feature = 0; feature < 4; ++feature) {
              features[row * 4 + feature] = clean.features[at * 5 + feature] + static_cast<float>(added);
            }
            prices[row] = clean.price[at] + added;
          }
        });
      };
      const WindowOptions options = {.window = 10, .horizon = 20, .label = label, .valid = 0.25};
      const auto clean = split_windows(fill(0), options), disturbed = split_windows(fill(5), options);
      ASSERT_EQ(clean.train->size(), disturbed.train->size());
      for (std::int64_t index = 0; index < clean.train->size(); ++index) {
        ASSERT_EQ(Sample(*clean.train, index), Sample(*disturbed.train, index)) << index;
      }
      // The test can fail: validation samples do differ.
      EXPECT_NE(Sample(*clean.valid, 0), Sample(*disturbed.valid, 0));
      const std::int64_t gap =
          windows_of(clean.valid).anchor(0) - windows_of(clean.train).anchor(clean.train->size() - 1);
      EXPECT_GE(gap, label == LabelKind::kSmoothDirection ? 40 : 30);
    }
  }
}

// Long enough for several pieces of prices: labels and windows agree with the definition at the edges of the pieces
// too.
TEST(MarketWindows, LabelsOfLongDays) {
  const Table table = counting_table(1, 200'000, 1, hills);
  constexpr std::int64_t kHorizon = 7;
  for (const LabelKind kind : {LabelKind::kDirection, LabelKind::kSmoothDirection, LabelKind::kReturn}) {
    const auto split = split_windows(table, {.window = 3, .horizon = kHorizon, .label = kind, .alpha = 0.001});
    const MarketWindows& windows = windows_of(split.train);
    double scale = 0;
    for (std::int64_t row = 6; row < 200'000 - kHorizon; row += row % 65'536 < 65'500 && row % 65'536 > 20 ? 97 : 1) {
      double after = 0, before = 0;
      for (std::int64_t ahead = 1; ahead <= kHorizon; ++ahead) {
        after += hills(row + ahead) / kHorizon;
        before += (kind == LabelKind::kDirection ? hills(row) : hills(row + ahead - kHorizon)) / kHorizon;
      }
      const double change = after / before - 1;
      if (kind != LabelKind::kReturn) {
        ASSERT_EQ(windows.label(row), change > 0.001 ? 2 : change < -0.001 ? 0 : 1) << row;
        continue;
      }
      const double returned = std::log(hills(row + kHorizon) / hills(row));
      if (std::abs(returned) < 1e-9) continue;
      if (scale == 0) scale = static_cast<double>(windows.label(row)) / returned;
      ASSERT_NEAR(static_cast<double>(windows.label(row)), returned * scale, 1e-5) << row;
    }
  }
}

// A price that stands still at a number that binary fractions round is no move, however small alpha is.
TEST(MarketWindows, ARoundedPriceThatStandsStillDoesNotMove) {
  const Table table = counting_table(1, 400, 1, [](std::int64_t row) { return row < 350 ? 100.1 : 100.3; });
  for (const LabelKind kind : {LabelKind::kDirection, LabelKind::kSmoothDirection}) {
    const auto split = split_windows(table, {.window = 2, .horizon = 7, .label = kind, .alpha = 0.0});
    for (std::int64_t row = 10; row < 340; ++row) ASSERT_EQ(windows_of(split.train).label(row), 1) << row;
    EXPECT_EQ(windows_of(split.train).label(345), 2);
  }
}

// What the loader calls gives the same as one sample alone, for windows that end within a piece too.
TEST(MarketWindows, FetchingTheNextChangesNothing) {
  const Table table = lob_table({.seed = 8}, 2, 1000);
  for (const Normalise normalise : {Normalise::kTrain, Normalise::kDay, Normalise::kNone}) {
    const auto split = split_windows(table, {.window = 37, .horizon = 5, .normalise = normalise});
    Sample alone(*split.train, 11), then(*split.train, 500);
    EXPECT_NE(alone, then);
    std::vector<std::byte*> at;
    for (auto& field : then.fields) at.push_back(field.data());
    split.train->read_then(11, split.train->size() - 1, at);
    EXPECT_EQ(alone, then);
  }
}

TEST(MarketWindows, NormaliseByTheDayBefore) {
  const Table table = counting_table(3, 100, 2, hills);
  const auto split = split_windows(table, {.window = 10, .horizon = 5, .normalise = Normalise::kDay});
  EXPECT_EQ(windows_of(split.train).anchor(0), 109);  // the first day has no day before it
  // Rows 0 to 99 hold 0, 10 ... 990 in feature 0: mean 495, deviation 10 sqrt((100^2 - 1) / 12).
  const double deviation = 10 * std::sqrt(9999.0 / 12);
  EXPECT_NEAR(Sample(*split.train, 0).as<float>(0)[0], (1000 - 495) / deviation, 1e-5);
  const std::int64_t second = split.train->size() / 2;
  EXPECT_NEAR(Sample(*split.train, second).as<float>(0)[0], (2000 - 1495) / deviation, 1e-5);
}

TEST(MarketWindows, ConstantFeaturesAreZero) {
  const Table table = memory_table("flat", 1, 100, 2, [](std::int64_t, float* features, double* price) {
    for (int row = 0; row < 100; ++row) {
      features[2 * row] = 5;
      features[2 * row + 1] = static_cast<float>(row);
      price[row] = rising(row);
    }
  });
  const auto split = split_windows(table, {.window = 10, .horizon = 5});
  EXPECT_EQ(Sample(*split.train, 0).as<float>(0)[0], 0);
  EXPECT_NE(Sample(*split.train, 0).as<float>(0)[1], 0);
}

TEST(MarketWindows, WhatIsRefused) {
  const Table table = counting_table(1, 100, 2, hills);
  const auto failure = [&](const WindowOptions& options) {
    return message_of<UserError>([&] { split_windows(table, options); });
  };
  expect_mentions(failure({.window = 90, .horizon = 11}), {"need 101 rows", "the longest has 100"});
  EXPECT_EQ(failure({.window = 89, .horizon = 11}), "");
  expect_mentions(failure({.window = 10, .horizon = 5, .purge = 14, .valid = 0.3}),
                  {"purge of 14", "leaks", "at least 15"});
  EXPECT_EQ(failure({.window = 10, .horizon = 5, .purge = 15, .valid = 0.3}), "");
  expect_mentions(failure({.window = 10, .horizon = 5, .purge = 90, .valid = 0.3}), {"no window is left for training"});
  expect_mentions(failure({.window = 10, .horizon = 5, .valid = 0.1}), {"no window is left for validation"});
  expect_mentions(failure({.window = 10, .horizon = 5, .normalise = Normalise::kDay}), {"one day only"});
  expect_mentions(failure({.window = 10, .horizon = 5, .input_shape = {10, 3}}), {"10 rows x 2 features", "[10, 3]"});
  const Table flat = counting_table(1, 100, 2, [](std::int64_t) { return 3.0; });
  expect_mentions(message_of<UserError>([&] { split_windows(flat, {.window = 4, .label = LabelKind::kReturn}); }),
                  {"the price never changes"});
  Table gap = counting_table(1, 100, 2, hills);
  std::vector<float> features(gap.features, gap.features + 200);
  features[2 * 73 + 1] = std::nanf("");
  gap.features = features.data();
  const auto with_gap = [&] { return message_of<UserError>([&] { split_windows(gap, {.window = 4, .valid = 0.3}); }); };
  expect_mentions(with_gap(), {"feature 1 of row 73", "nan", "--fill"});
  gap.feature_names = {"bid", "ask"};
  features[2 * 73 + 1] = -INFINITY;
  expect_mentions(with_gap(), {"column 'ask' of row 73", "-inf"});
  const Table zero = counting_table(1, 100, 2, [](std::int64_t) { return 0.0; });
  expect_mentions(message_of<UserError>([&] { split_windows(zero, {.window = 4}); }), {"positive prices"});
}

// The signal of the simulator, from its definition: regressing on the true s explains kSeriesBestR2.
TEST(SeriesSim, TheSignalExplainsWhatItSays) {
  const std::int64_t rows = 40'000;
  const Table table = series_table(3, 1, rows, 8);
  double slow = 0, fast = 0, cross = 0, signal_squares = 0, return_squares = 0;
  for (std::int64_t row = 0; row + 1 < rows; ++row) {
    const float* x = table.features + row * 8;
    slow = 0.9 * slow + 0.1 * static_cast<double>(x[0]);
    fast = 0.8 * fast + 0.2 * static_cast<double>(x[1]);
    if (row < 100) continue;
    const double signal = slow / std::sqrt(0.1 / 1.9) + fast / std::sqrt(0.2 / 1.8) + static_cast<double>(x[2] * x[3]) +
                          static_cast<double>(table.features[(row - 10) * 8 + 4]);
    const double change = std::log(table.price[row + 1] / table.price[row]);
    cross += signal * change;
    signal_squares += signal * signal;
    return_squares += change * change;
  }
  EXPECT_NEAR(cross * cross / signal_squares / return_squares, kSeriesBestR2, 0.02);
}

TEST(CrossSections, TheSignalExplainsWhatItSays) {
  const CrossSections days(0, 60, 500, 6, 4);
  double own = 0, both = 0, squares = 0, count = 0;
  for (std::int64_t day = 0; day < days.size(); ++day) {
    const Sample sample(days, day);
    const auto x = sample.as<float>(0), y = sample.as<float>(1);
    double mood = 0;
    for (std::size_t each = 0; each < 500; ++each) mood += static_cast<double>(x[each * 6 + 1]) / 500 / 0.6;
    for (std::size_t each = 0; each < 500; ++each) {
      const auto target = static_cast<double>(y[each]);
      const double from_own = 0.5 * static_cast<double>(x[each * 6]);
      const double from_all = from_own + 0.5 * mood * static_cast<double>(x[each * 6 + 2]);
      own += (target - from_own) * (target - from_own);
      both += (target - from_all) * (target - from_all);
      squares += target * target;
      ++count;
    }
  }
  EXPECT_NEAR(*days.baseline().loss, squares / count, 0.01);
  // The second half of the days is the same whether the first is there or not.
  EXPECT_EQ(Sample(days, 40), Sample(CrossSections(40, 20, 500, 6, 4), 0));
  EXPECT_NEAR(1 - own / squares, CrossSections::kOwnShare, 0.08);
  EXPECT_NEAR(1 - both / squares, CrossSections::kOwnShare + CrossSections::kMoodShare, 0.08);
}

}  // namespace
}  // namespace headway::data
