#include "data/market/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"

namespace headway::data {
namespace {

// Labels that thresholds and scales are taken from, at most: a million fix a third to a thousandth.
constexpr std::int64_t kMostSampled = 1'000'000;
constexpr std::int64_t kRowsAtOnce = std::int64_t{1} << 16;

// `price` points at the row. Sums of differences rather than differences of sums: where the price stands still, the
// change is exactly 0.
double change_at(const double* price, LabelKind label, std::int64_t horizon) {
  if (label == LabelKind::kReturn) return std::log(price[horizon] / price[0]);
  double change = 0, before = 0;
  for (std::int64_t ahead = 1; ahead <= horizon; ++ahead) {
    const double reference = label == LabelKind::kDirection ? price[0] : price[ahead - horizon];
    change += price[ahead] - reference;
    before += reference;
  }
  return change / before;
}

void load_prices(const Table& table, std::int64_t first, std::int64_t last, std::vector<double>& prices) {
  prices.clear();
  for (std::int64_t row = first; row <= last; ++row) {
    const double price = table.price[row];
    if (!(price > 0) || !std::isfinite(price)) {
      throw UserError(
          fmt::format("{}: the price of row {} is {}; labels need positive prices", table.name, row, price));
    }
    prices.push_back(price);
  }
}

// The deviation of returns, or the change that a third of the labels stay under.
void fill_scale(std::vector<double> changes, const Table& table, const WindowOptions& options,
                WindowStatistics& statistics) {
  if (options.label != LabelKind::kReturn) {
    for (double& change : changes) change = std::abs(change);
    statistics.alpha = options.alpha ? *options.alpha : quantile(changes, 1.0 / 3);
    return;
  }
  double sum = 0, squares = 0;
  for (const double change : changes) {
    sum += change;
    squares += change * change;
  }
  const double count = static_cast<double>(changes.size()), mean = sum / count;
  statistics.return_deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  if (statistics.return_deviation > 0) return;
  throw UserError(
      fmt::format("{}: the price never changes in the training part: there is nothing to predict", table.name));
}

}  // namespace

void visit_changes(const Table& table, LabelKind label, std::int64_t horizon, std::int64_t first, std::int64_t last,
                   std::int64_t step, const std::function<void(std::int64_t, double)>& visit) {
  const std::int64_t before = label == LabelKind::kSmoothDirection ? horizon - 1 : 0;
  std::vector<double> prices;
  for (std::int64_t row = first; row <= last;) {
    const std::int64_t begin = row, end = std::min(last, begin + std::max(step, kRowsAtOnce) - 1);
    load_prices(table, begin - before, end + horizon, prices);
    for (; row <= end; row += step) visit(row, change_at(prices.data() + (row - begin) + before, label, horizon));
  }
}

void fill_labels(const Table& table, const WindowOptions& options, const std::vector<AnchorRange>& train,
                 const std::vector<AnchorRange>& valid, WindowStatistics& statistics) {
  std::int64_t anchors = 0;
  for (const AnchorRange& range : train) anchors += range.last - range.first + 1;
  const std::int64_t step = (anchors + kMostSampled - 1) / kMostSampled;
  std::vector<double> changes;
  for (const AnchorRange& range : train) {
    visit_changes(table, options.label, options.horizon, range.first, range.last, step,
                  [&](std::int64_t, double change) { changes.push_back(change); });
  }
  fill_scale(std::move(changes), table, options, statistics);

  statistics.labels.assign(static_cast<std::size_t>(table.rows), 0);
  const auto store = [&](std::int64_t row, double change) {
    const double label = options.label == LabelKind::kReturn ? change / statistics.return_deviation
                         : change > statistics.alpha         ? 2
                         : change < -statistics.alpha        ? 0
                                                             : 1;
    statistics.labels[static_cast<std::size_t>(row)] = static_cast<float>(label);
  };
  const std::int64_t earlier = options.every_step ? options.window - 1 : 0;
  for (const auto* part : {&train, &valid}) {
    for (const AnchorRange& range : *part) {
      visit_changes(table, options.label, options.horizon, range.first - earlier, range.last, 1, store);
    }
  }
}

}  // namespace headway::data
