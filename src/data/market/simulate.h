// A simulated order book into a columnar file.
#pragma once

#include <filesystem>

#include "base/progress.h"
#include "data/market/columnar.h"
#include "data/market/lob_sim.h"

namespace headway::data {

struct SimulateOptions {
  std::filesystem::path output = {};
  LobOptions lob = {};
  std::int64_t days = 8;
  std::int64_t rows = 20'000;  // of a day
  std::int64_t first_day = 0;
};

// The columns of a book: time, ask_price_1, ask_size_1, bid_price_1, bid_size_1 ..., mid.
std::vector<Column> book_columns(int levels, bool with_time);

// Days first_day, first_day + 1 ... one after the other, each a segment; only a row is in memory.
void simulate_book(const SimulateOptions& options, Progress* progress);

}  // namespace headway::data
