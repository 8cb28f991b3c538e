#include "data/market/table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace headway::data {

Table columnar_table(const std::filesystem::path& path, const std::string& price) {
  const auto file = std::make_shared<const ColumnarFile>(path);
  const ColumnarLayout& layout = file->layout();
  Table table;
  table.name = path.string();
  table.rows = layout.rows;
  std::vector<std::string> names;
  for (const Column& column : layout.columns) {
    if (column.dtype == DType::kF32) table.feature_names.push_back(column.name);
    names.push_back(column.name);
  }
  table.width = static_cast<std::int64_t>(table.feature_names.size());
  if (table.width == 0) throw UserError(fmt::format("{}: no f32 column, so there are no features", path.string()));
  const auto view = file->find(price);
  if (!view) {
    throw UserError(fmt::format("{}: no column '{}' to make labels of (data.price){}", path.string(), price,
                                suggestion(price, names)));
  }
  table.price = *view;
  table.features = reinterpret_cast<const float*>(file->block(DType::kF32).data());
  table.segments = layout.segments;
  table.segments.push_back(layout.rows);
  table.owner = file;
  return table;
}

Table memory_table(std::string name, std::int64_t days, std::int64_t rows, std::int64_t width,
                   const std::function<void(std::int64_t day, float* features, double* price)>& fill) {
  struct Arrays {
    std::vector<float> features;
    std::vector<double> price;
  };
  const auto arrays = std::make_shared<Arrays>();
  Table table;
  table.name = std::move(name);
  table.rows = days * rows;
  table.width = width;
  arrays->features.resize(static_cast<std::size_t>(table.rows * width));
  arrays->price.resize(static_cast<std::size_t>(table.rows));
  for (std::int64_t day = 0; day < days; ++day) {
    table.segments.push_back(day * rows);
    fill(day, arrays->features.data() + day * rows * width, arrays->price.data() + day * rows);
  }
  table.segments.push_back(table.rows);
  table.features = arrays->features.data();
  table.price = {reinterpret_cast<const std::byte*>(arrays->price.data()), sizeof(double), DType::kF64};
  table.owner = arrays;
  return table;
}

Table lob_table(const LobOptions& options, std::int64_t days, std::int64_t rows) {
  return memory_table("lob_sim", days, rows, kLobFeatures, [&](std::int64_t day, float* features, double* price) {
    LobDay book(options, day);
    LobRow row;
    for (std::int64_t index = 0; index < rows; ++index) {
      book.next(row);
      std::copy(row.book.begin(), row.book.end(), features + index * kLobFeatures);
      price[index] = row.mid;
    }
  });
}

}  // namespace headway::data
