// Windows of market data with labels, and their split in time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/market/table.h"

namespace headway::data {

// What is predicted at the last row t of a window, from the price p, with k = horizon:
//
//   direction         of mean(p[t+1 .. t+k]) against p[t]
//   smooth_direction  of mean(p[t+1 .. t+k]) against mean(p[t-k+1 .. t])
//   return            log(p[t+k] / p[t]) over its deviation in the training part
//
// A direction is 2 (up) when the relative change is over alpha, 0 (down) when it is under -alpha, else 1: the labels of
// Zhang, Zohren and Roberts ("DeepLOB: Deep convolutional neural networks for limit order books", IEEE Transactions on
// Signal Processing 67, 2019, equations 3 and 4).
enum class LabelKind : std::uint8_t { kDirection, kSmoothDirection, kReturn };
// By which rows a feature is standardised: of the training part, of the day before (the first day then has no windows),
// or by none.
enum class Normalise : std::uint8_t { kTrain, kDay, kNone };

// By the names of a run file. InternalError for another name.
LabelKind label_from_name(std::string_view name);
Normalise normalise_from_name(std::string_view name);

struct WindowOptions {
  std::int64_t window = 100;  // rows
  std::int64_t stride = 1;    // rows from one window to the next
  std::int64_t horizon = 1;   // rows that the label looks ahead
  LabelKind label = LabelKind::kDirection;
  std::optional<double> alpha = {};  // of a direction; none: a third of the training labels are 1
  Normalise normalise = Normalise::kTrain;
  std::optional<std::int64_t> purge = {};  // rows between the ends of the last training and the first validation window
  double valid = 0;                        // share of the rows, the last ones; 0: no validation
  Shape input_shape = {};                  // of a sample; empty: [window, features]
  bool every_step = false;                 // return: a target for each row of the window, [window, 1]
};

// What both parts of a split share: numbers that come from the training part alone.
struct WindowStatistics {
  double alpha = 0;
  double return_deviation = 1;
  // Per day (one entry: for all), the mean of each feature and 1 / deviation (0 for a constant), repeated so that the
  // copy loop runs over several rows at once.
  struct Standard {
    std::vector<float> mean, scale;
  };
  std::vector<Standard> by_day;
  // By row of the table: the class, 0, 1 or 2, or the scaled return; 0 where no window asks.
  std::vector<float> labels;
};

// Rows whose windows are of one part: anchors (last rows) first, first + stride ... up to last, all within one day.
struct AnchorRange {
  std::int64_t first = 0;
  std::int64_t last = 0;  // inclusive
  std::int64_t day = 0;
};

// Sample i is the i-th window in time: input f32 [window, features], target i32 [] or f32 [1].
class MarketWindows : public Dataset {
 public:
  MarketWindows(Table table, const WindowOptions& options, const std::vector<AnchorRange>& ranges,
                std::shared_ptr<const WindowStatistics> statistics, std::string part);

  std::int64_t size() const override { return starts_.back(); }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override { read_then(index, index, fields); }
  void read_then(std::int64_t index, std::int64_t next, std::span<std::byte* const> fields) const override;
  std::string description() const override;
  Baseline baseline() const override;

  // The last row of window `index`.
  std::int64_t anchor(std::int64_t index) const;
  // Where the features of window `index` are in memory, before they are standardised: one run, row after row.
  const std::byte* rows_of(std::int64_t index) const;
  // The class (0, 1, 2) or the scaled return at a row.
  float label(std::int64_t row) const { return statistics_->labels[static_cast<std::size_t>(row)]; }

 private:
  std::size_t range_of(std::int64_t index) const;
  const float* features_of(std::int64_t anchor) const {
    return table_.features + (anchor - options_.window + 1) * table_.width;
  }
  void copy_window(const float* in, const float* next, std::int64_t day, float* out) const;

  Table table_;
  WindowOptions options_;
  std::vector<AnchorRange> ranges_;
  std::vector<std::int64_t> starts_;                    // first index of each range, then the number of windows
  std::shared_ptr<const WindowStatistics> statistics_;  // shared by the two parts
  std::string part_;
  std::vector<Field> fields_;
};

struct WindowSplit {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> valid;
};

// Splits by time: validation is the last `valid` of the rows, whole days when there are at least two. No window and no
// label crosses a day, and the last training window ends `purge` rows before the first validation window does: at least
// the rows that a label and a window span, so that no row serves both. UserError for windows longer than any day, a
// smaller purge (it would leak), parts without windows, prices that are not positive, features that are not finite.
WindowSplit split_windows(const Table& table, const WindowOptions& options);

}  // namespace headway::data
