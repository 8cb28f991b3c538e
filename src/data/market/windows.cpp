#include "data/market/windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "data/market/label.h"

namespace headway::data {
namespace {

// mean(price[first .. first + count - 1])
double mean_price(const ColumnView& price, std::int64_t first, std::int64_t count) {
  double sum = 0;
  for (std::int64_t row = first; row < first + count; ++row) sum += price[row];
  return sum / static_cast<double>(count);
}

}  // namespace

LabelKind label_from_name(std::string_view name) {
  if (name == "direction") return LabelKind::kDirection;
  if (name == "smooth_direction") return LabelKind::kSmoothDirection;
  HEADWAY_CHECK(name == "return", std::string(name));
  return LabelKind::kReturn;
}

Normalise normalise_from_name(std::string_view name) {
  if (name == "train") return Normalise::kTrain;
  if (name == "day") return Normalise::kDay;
  HEADWAY_CHECK(name == "none", std::string(name));
  return Normalise::kNone;
}

double relative_change(const ColumnView& price, LabelKind label, std::int64_t horizon, std::int64_t row) {
  if (label == LabelKind::kReturn) return std::log(price[row + horizon] / price[row]);
  const double before = label == LabelKind::kDirection ? price[row] : mean_price(price, row - horizon + 1, horizon);
  return (mean_price(price, row + 1, horizon) - before) / before;
}

MarketWindows::MarketWindows(Table table, const WindowOptions& options, const std::vector<AnchorRange>& ranges,
                             std::shared_ptr<const WindowStatistics> statistics, std::string part)
    : table_(std::move(table)),
      options_(options),
      ranges_(ranges),
      statistics_(std::move(statistics)),
      part_(std::move(part)) {
  std::int64_t windows = 0;
  for (const AnchorRange& range : ranges_) {
    starts_.push_back(windows);
    windows += (range.last - range.first) / options_.stride + 1;
  }
  starts_.push_back(windows);
  const Shape input = options_.input_shape.rank() > 0 ? options_.input_shape : Shape{options_.window, table_.width};
  if (options_.label != LabelKind::kReturn) {
    fields_ = input_and_target(DType::kF32, input, DType::kI32, Shape{});
  } else {
    fields_ =
        input_and_target(DType::kF32, input, DType::kF32, options_.every_step ? Shape{options_.window, 1} : Shape{1});
  }
}

std::size_t MarketWindows::range_of(std::int64_t index) const {
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end() - 1, index) - starts_.begin() - 1);
}

std::int64_t MarketWindows::anchor(std::int64_t index) const {
  const std::size_t range = range_of(index);
  return ranges_[range].first + (index - starts_[range]) * options_.stride;
}

const std::byte* MarketWindows::rows_of(std::int64_t index) const {
  return reinterpret_cast<const std::byte*>(table_.features + (anchor(index) - options_.window + 1) * table_.width);
}

double MarketWindows::label(std::int64_t row) const {
  const double change = relative_change(table_.price, options_.label, options_.horizon, row);
  if (options_.label == LabelKind::kReturn) return change / statistics_->return_deviation;
  return change > statistics_->alpha ? 2 : change < -statistics_->alpha ? 0 : 1;
}

// A window is one run of memory. Standardising it on the way costs little more than copying: both wait for memory.
void MarketWindows::copy_window(std::int64_t first_row, std::int64_t day, float* out) const {
  const float* in = table_.features + first_row * table_.width;
  const std::int64_t values = options_.window * table_.width;
  if (options_.normalise == Normalise::kNone) {
    std::memcpy(out, in, static_cast<std::size_t>(values) * sizeof(float));
    return;
  }
  const auto& by_day = statistics_->by_day;
  const WindowStatistics::Standard& standard = by_day[by_day.size() == 1 ? 0 : static_cast<std::size_t>(day)];
  const float* mean = standard.mean.data();
  const float* scale = standard.scale.data();
  const std::int64_t run = WindowStatistics::kRepeat * table_.width;
  for (std::int64_t begin = 0; begin < values; begin += run) {
    const std::int64_t count = std::min(run, values - begin);
    for (std::int64_t value = 0; value < count; ++value) {
      out[begin + value] = (in[begin + value] - mean[value]) * scale[value];
    }
  }
}

void MarketWindows::read(std::int64_t index, std::span<std::byte* const> fields) const {
  const std::size_t range = range_of(index);
  const std::int64_t last = ranges_[range].first + (index - starts_[range]) * options_.stride;
  const std::int64_t first = last - options_.window + 1;
  copy_window(first, ranges_[range].day, reinterpret_cast<float*>(fields[0]));
  if (options_.label != LabelKind::kReturn) {
    const auto target = static_cast<std::int32_t>(label(last));
    std::memcpy(fields[1], &target, sizeof(target));
    return;
  }
  auto* target = reinterpret_cast<float*>(fields[1]);
  for (std::int64_t row = options_.every_step ? first : last; row <= last; ++row) {
    *target++ = static_cast<float>(label(row));
  }
}

std::string MarketWindows::description() const {
  return fmt::format("{}: {} windows of {} x {} in {} day{} for {}", table_.name, size(), options_.window, table_.width,
                     ranges_.size(), ranges_.size() == 1 ? "" : "s", part_);
}

Baseline MarketWindows::baseline() const {
  std::array<std::int64_t, 3> counts = {};
  double sum = 0, squares = 0;
  for (std::int64_t index = 0; index < size(); ++index) {
    const double value = label(anchor(index));
    if (options_.label != LabelKind::kReturn) ++counts[static_cast<std::size_t>(value)];
    sum += value;
    squares += value * value;
  }
  const auto windows = static_cast<double>(size());
  if (options_.label == LabelKind::kReturn) return {.loss = squares / windows - (sum / windows) * (sum / windows)};
  return {.accuracy = static_cast<double>(*std::max_element(counts.begin(), counts.end())) / windows};
}

}  // namespace headway::data
