// How windows are divided between training and validation, and the statistics of the training part.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "data/market/labels.h"
#include "data/market/windows.h"

namespace headway::data {
namespace {

// Features are standardised at least so many at once, over as many rows as that takes: long enough for full vectors and
// few branches, short enough for the first-level cache.
constexpr std::int64_t kRun = 320;

// Rows before the anchor, itself included, that a window or its label reads.
std::int64_t past_of(const WindowOptions& options) {
  if (options.label != LabelKind::kSmoothDirection) return options.window;
  return std::max(options.window, options.horizon);
}

// Anchors of each day within [begin, end) of the table whose windows and labels stay in day and part; `last` bounds
// them.
std::vector<AnchorRange> anchors(const Table& table, const WindowOptions& options, std::int64_t begin,
                                 std::int64_t last) {
  std::vector<AnchorRange> ranges;
  const std::int64_t first_day = options.normalise == Normalise::kDay ? 1 : 0;
  for (std::int64_t day = first_day; day + 1 < static_cast<std::int64_t>(table.segments.size()); ++day) {
    const std::int64_t from = std::max(table.segments[static_cast<std::size_t>(day)], begin);
    const std::int64_t end = table.segments[static_cast<std::size_t>(day) + 1];
    const AnchorRange range = {from + past_of(options) - 1, std::min(end - 1 - options.horizon, last), day};
    if (range.first <= range.last) ranges.push_back(range);
  }
  return ranges;
}

// The first validation row: a day's first when there are several days, the nearest to the share asked for.
std::int64_t cut_row(const Table& table, double valid) {
  const auto wanted = static_cast<std::int64_t>(std::llround(static_cast<double>(table.rows) * (1 - valid)));
  const auto& days = table.segments;  // the last entry is the end
  if (days.size() <= 2) return wanted;
  return *std::min_element(days.begin() + 1, days.end() - 1,
                           [&](std::int64_t a, std::int64_t b) { return std::abs(a - wanted) < std::abs(b - wanted); });
}

WindowStatistics::Standard standard_of(const Table& table, std::int64_t begin, std::int64_t end) {
  const auto width = static_cast<std::size_t>(table.width);
  // Around the first row, so that prices with a large mean and a small deviation lose no digits.
  const float* origin = table.features + begin * table.width;
  std::vector<double> sum(width), squares(width);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* values = table.features + row * table.width;
    for (std::size_t feature = 0; feature < width; ++feature) {
      const double value = static_cast<double>(values[feature]) - static_cast<double>(origin[feature]);
      sum[feature] += value;
      squares[feature] += value * value;
    }
  }
  WindowStatistics::Standard standard;
  const auto rows = static_cast<double>(end - begin);
  for (std::int64_t repeat = 0; repeat < (kRun + table.width - 1) / table.width; ++repeat) {
    for (std::size_t feature = 0; feature < width; ++feature) {
      const double mean = sum[feature] / rows, variance = squares[feature] / rows - mean * mean;
      standard.mean.push_back(static_cast<float>(static_cast<double>(origin[feature]) + mean));
      standard.scale.push_back(variance > 0 ? static_cast<float>(1 / std::sqrt(variance)) : 0.0F);
    }
  }
  return standard;
}

std::shared_ptr<const WindowStatistics> statistics_of(const Table& table, const WindowOptions& options,
                                                      const std::vector<AnchorRange>& train,
                                                      const std::vector<AnchorRange>& valid) {
  auto statistics = std::make_shared<WindowStatistics>();
  fill_labels(table, options, train, valid, *statistics);
  if (options.normalise == Normalise::kTrain) {
    // All rows that training windows read: from the first to the last anchor's.
    statistics->by_day.push_back(standard_of(table, 0, train.back().last + 1));
  } else if (options.normalise == Normalise::kDay) {
    statistics->by_day.emplace_back();
    for (std::size_t day = 0; day + 2 < table.segments.size(); ++day) {
      statistics->by_day.push_back(standard_of(table, table.segments[day], table.segments[day + 1]));
    }
  }
  return statistics;
}

// One NaN would make every standardised feature NaN, and the loss with it.
void require_finite(const Table& table) {
  constexpr std::uint32_t kExponent = 0x7F800000;  // all ones: an infinity or a NaN
  for (std::int64_t row = 0; row < table.rows; ++row) {
    const float* values = table.features + row * table.width;
    bool bad = false;
    for (std::int64_t feature = 0; feature < table.width; ++feature) {
      bad |= (std::bit_cast<std::uint32_t>(values[feature]) & kExponent) == kExponent;
    }
    if (!bad) continue;
    const float* at = std::find_if(values, values + table.width, [](float value) { return !std::isfinite(value); });
    const auto feature = static_cast<std::size_t>(at - values);
    throw UserError(fmt::format(
        "{}: {} of row {} is {}; features must be finite: `headway data convert --fill` says what to do with gaps",
        table.name,
        feature < table.feature_names.size() ? fmt::format("column '{}'", table.feature_names[feature])
                                             : fmt::format("feature {}", feature),
        row, *at));
  }
}

void require_room(const Table& table, const WindowOptions& options) {
  std::int64_t longest = 0;
  for (std::size_t day = 0; day + 1 < table.segments.size(); ++day) {
    longest = std::max(longest, table.segments[day + 1] - table.segments[day]);
  }
  const std::int64_t needed = past_of(options) + options.horizon;
  if (longest >= needed) return;
  throw UserError(fmt::format("{}: windows of {} rows with a horizon of {} need {} rows in one day, the longest has {}",
                              table.name, options.window, options.horizon, needed, longest));
}

}  // namespace

WindowSplit split_windows(const Table& table, const WindowOptions& options) {
  require_room(table, options);
  require_finite(table);
  if (options.input_shape.rank() > 0 && options.input_shape.elements() != options.window * table.width) {
    throw UserError(fmt::format("{}: windows of {} rows x {} features do not fill the model's input {}", table.name,
                                options.window, table.width, to_string(options.input_shape)));
  }
  const std::int64_t least_purge = past_of(options) + options.horizon;
  if (options.valid > 0 && options.purge && *options.purge < least_purge) {
    throw UserError(
        fmt::format("{}: a purge of {} rows leaks: the last training label looks {} rows ahead and the first "
                    "validation window begins {} rows before its end; use at least {}, or leave it out",
                    table.name, *options.purge, options.horizon, past_of(options) - 1, least_purge));
  }
  if (options.normalise == Normalise::kDay && table.segments.size() <= 2) {
    throw UserError(fmt::format("{}: normalise: day takes the statistics of the day before, and there is one day only",
                                table.name));
  }
  std::int64_t train_last = table.rows, cut = table.rows;
  if (options.valid > 0) {
    cut = cut_row(table, options.valid);
    train_last = cut + past_of(options) - 1 - options.purge.value_or(least_purge);
  }
  const std::vector<AnchorRange> train = anchors(table, options, 0, train_last);
  const std::vector<AnchorRange> valid =
      options.valid > 0 ? anchors(table, options, cut, table.rows) : std::vector<AnchorRange>();
  if (train.empty() || (options.valid > 0 && valid.empty())) {
    throw UserError(fmt::format("{}: no window is left for {}: {} rows, validation from row {} on, a purge of {}",
                                table.name, train.empty() ? "training" : "validation", table.rows, cut,
                                options.purge.value_or(least_purge)));
  }
  const auto statistics = statistics_of(table, options, train, valid);
  WindowSplit split;
  split.train = std::make_unique<MarketWindows>(table, options, train, statistics, "training");
  if (!valid.empty()) split.valid = std::make_unique<MarketWindows>(table, options, valid, statistics, "validation");
  return split;
}

}  // namespace headway::data
