// Rows of features in time order, and what labels are made of: what windows are cut from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/market/columnar_file.h"
#include "data/market/lob_sim.h"

namespace headway::data {

struct Table {
  std::string name;                 // for messages
  const float* features = nullptr;  // [rows, width]
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::vector<std::string> feature_names;  // for messages; empty when they have none
  std::vector<std::int64_t> segments;      // first row of each day, then `rows`
  ColumnView price;                        // what labels are made of, one value a row
  std::shared_ptr<const void> owner;       // of the memory: a mapped file, or arrays; shared by the parts of a split
};

// The f32 columns of a columnar file as features and `price` as the price. UserError when the file is damaged, has no
// f32 columns, or no such column.
Table columnar_table(const std::filesystem::path& path, const std::string& price);

// `days` days of a simulated book, `rows` snapshots each.
Table lob_table(const LobOptions& options, std::int64_t days, std::int64_t rows);

// An empty table in memory with room for features and an f64 price; `fill` writes one day's rows.
Table memory_table(std::string name, std::int64_t days, std::int64_t rows, std::int64_t width,
                   const std::function<void(std::int64_t day, float* features, double* price)>& fill);

}  // namespace headway::data
