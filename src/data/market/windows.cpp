#include "data/market/windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "data/market/standardise.h"

namespace headway::data {
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
  return reinterpret_cast<const std::byte*>(features_of(anchor(index)));
}

// A window is one run of memory, and standardising it on the way costs little more than copying: both wait for memory.
// A processor prefetches within a page and windows begin anywhere, so the next one is asked for piece by piece while
// this one is worked on.
void MarketWindows::copy_window(const float* in, const float* next, std::int64_t day, float* out) const {
  constexpr std::int64_t kLine = 64 / sizeof(float), kCopiedAtOnce = 512;
  const std::int64_t values = options_.window * table_.width;
  const auto fetch = [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t value = 0; value < count; value += kLine) __builtin_prefetch(next + begin + value);
  };
  if (options_.normalise == Normalise::kNone) {
    for (std::int64_t begin = 0; begin < values; begin += kCopiedAtOnce) {
      const std::int64_t count = std::min(kCopiedAtOnce, values - begin);
      fetch(begin, count);
      std::memcpy(out + begin, in + begin, static_cast<std::size_t>(count) * sizeof(float));
    }
    return;
  }
  const auto& by_day = statistics_->by_day;
  const WindowStatistics::Standard& standard = by_day[by_day.size() == 1 ? 0 : static_cast<std::size_t>(day)];
  const float* mean = standard.mean.data();
  const float* scale = standard.scale.data();
  const auto run = static_cast<std::int64_t>(standard.mean.size());
  for (std::int64_t begin = 0; begin < values; begin += run) {
    const std::int64_t count = std::min(run, values - begin);
    fetch(begin, count);
    standardise(in + begin, mean, scale, count, out + begin);
  }
}

void MarketWindows::read_then(std::int64_t index, std::int64_t next, std::span<std::byte* const> fields) const {
  const std::size_t range = range_of(index);
  const std::int64_t last = ranges_[range].first + (index - starts_[range]) * options_.stride;
  copy_window(features_of(last), features_of(next == index ? last : anchor(next)), ranges_[range].day,
              reinterpret_cast<float*>(fields[0]));
  if (options_.label != LabelKind::kReturn) {
    const auto target = static_cast<std::int32_t>(label(last));
    std::memcpy(fields[1], &target, sizeof(target));
    return;
  }
  const std::int64_t targets = options_.every_step ? options_.window : 1;
  std::memcpy(fields[1], statistics_->labels.data() + last - targets + 1,
              static_cast<std::size_t>(targets) * sizeof(float));
}

std::string MarketWindows::description() const {
  return fmt::format("{}: {} windows of {} x {} in {} day{} for {}", table_.name, size(), options_.window, table_.width,
                     ranges_.size(), ranges_.size() == 1 ? "" : "s", part_);
}

Baseline MarketWindows::baseline() const {
  std::array<std::int64_t, 3> counts = {};
  double sum = 0, squares = 0;
  for (std::int64_t index = 0; index < size(); ++index) {
    const auto value = static_cast<double>(label(anchor(index)));
    if (options_.label != LabelKind::kReturn) ++counts[static_cast<std::size_t>(value)];
    sum += value;
    squares += value * value;
  }
  const auto windows = static_cast<double>(size());
  if (options_.label == LabelKind::kReturn) return {.loss = squares / windows - (sum / windows) * (sum / windows)};
  return {.accuracy = static_cast<double>(*std::max_element(counts.begin(), counts.end())) / windows};
}

}  // namespace headway::data
