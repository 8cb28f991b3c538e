// How windows are divided between training and validation, and the statistics of the training part.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "data/market/label.h"
#include "data/market/windows.h"

namespace headway::data {
namespace {

// Labels that thresholds and scales are taken from, at most: a million fix a third to a thousandth.
constexpr std::int64_t kMostSampled = 1'000'000;

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
  for (std::int64_t repeat = 0; repeat < WindowStatistics::kRepeat; ++repeat) {
    for (std::size_t feature = 0; feature < width; ++feature) {
      const double mean = sum[feature] / rows, variance = squares[feature] / rows - mean * mean;
      standard.mean.push_back(static_cast<float>(static_cast<double>(origin[feature]) + mean));
      standard.scale.push_back(variance > 0 ? static_cast<float>(1 / std::sqrt(variance)) : 0.0F);
    }
  }
  return standard;
}

// Relative changes at evenly spread training anchors.
std::vector<double> sampled_changes(const Table& table, const WindowOptions& options,
                                    const std::vector<AnchorRange>& ranges) {
  std::int64_t total = 0;
  for (const AnchorRange& range : ranges) total += range.last - range.first + 1;
  const std::int64_t step = (total + kMostSampled - 1) / kMostSampled;
  std::vector<double> changes;
  for (const AnchorRange& range : ranges) {
    for (std::int64_t row = range.first; row <= range.last; row += step) {
      changes.push_back(relative_change(table.price, options.label, options.horizon, row));
      if (!std::isfinite(changes.back())) {
        throw UserError(fmt::format("{}: the price near row {} is {}; labels need positive prices", table.name, row,
                                    table.price[row]));
      }
    }
  }
  return changes;
}

std::shared_ptr<const WindowStatistics> statistics_of(const Table& table, const WindowOptions& options,
                                                      const std::vector<AnchorRange>& train) {
  auto statistics = std::make_shared<WindowStatistics>();
  std::vector<double> changes = sampled_changes(table, options, train);
  if (options.label == LabelKind::kReturn) {
    double sum = 0, squares = 0;
    for (const double change : changes) {
      sum += change;
      squares += change * change;
    }
    const double count = static_cast<double>(changes.size()), mean = sum / count;
    statistics->return_deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
    if (!(statistics->return_deviation > 0)) {
      throw UserError(
          fmt::format("{}: the price never changes in the training part: there is nothing to predict", table.name));
    }
  } else {
    for (double& change : changes) change = std::abs(change);
    statistics->alpha = options.alpha ? *options.alpha : quantile(changes, 1.0 / 3);
  }
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
  const auto statistics = statistics_of(table, options, train);
  WindowSplit split;
  split.train = std::make_unique<MarketWindows>(table, options, train, statistics, "training");
  if (!valid.empty()) split.valid = std::make_unique<MarketWindows>(table, options, valid, statistics, "validation");
  return split;
}

}  // namespace headway::data
