#include "data/market/simulate.h"

#include <fmt/core.h>

#include <algorithm>

#include "data/market/columnar_writer.h"

namespace headway::data {

std::vector<Column> book_columns(int levels, bool with_time) {
  std::vector<Column> columns;
  if (with_time) columns.push_back({"time", DType::kI64});
  for (int level = 1; level <= levels; ++level) {
    for (const char* what : {"ask_price", "ask_size", "bid_price", "bid_size"}) {
      columns.push_back({fmt::format("{}_{}", what, level), DType::kF32});
    }
  }
  columns.push_back({"mid", DType::kF64});
  return columns;
}

void simulate_book(const SimulateOptions& options, Progress* progress) {
  const LobOptions& lob = options.lob;
  ColumnarWriter writer(options.output, book_columns(kLobLevels, true),
                        fmt::format("simulated limit order book, days {} to {}, seed {}, {} arrivals, {} events a row; "
                                    "prices are dollars x 10,000, times nanoseconds of the day",
                                    options.first_day, options.first_day + options.days - 1, lob.seed,
                                    lob.arrivals == Arrivals::kHawkes ? "hawkes" : "poisson", lob.events_per_row));
  constexpr std::int64_t kShownEvery = 4096;
  LobRow row;
  for (std::int64_t day = 0; day < options.days; ++day) {
    writer.begin_segment();
    LobDay book(lob, options.first_day + day);
    for (std::int64_t number = 0; number < options.rows; ++number) {
      book.next(row);
      *writer.row<std::int64_t>() = row.time_ns;
      *writer.row<double>() = row.mid;
      std::copy(row.book.begin(), row.book.end(), writer.row<float>());
      writer.end_row();
      if (progress != nullptr && number % kShownEvery == 0) {
        progress->update("simulate", day * options.rows + number, options.days * options.rows, "rows");
      }
    }
  }
  writer.finish();
}

}  // namespace headway::data
