// A columnar file, mapped into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "data/market/columnar.h"

namespace headway::data {

// Where a column's values are: value of row r at start + r * stride.
struct ColumnView {
  const std::byte* start = nullptr;
  std::int64_t stride = 0;  // bytes
  DType dtype = DType::kF32;

  double operator[](std::int64_t row) const;
};

class ColumnarFile {
 public:
  // Maps the file and checks prologue and footer (decode_layout), not the data: that is verify()'s, which reads all of
  // it. UserError when there is no such file or it is damaged; EnvironmentError when it cannot be read or mapped.
  explicit ColumnarFile(const std::filesystem::path& path);
  ~ColumnarFile();
  ColumnarFile(const ColumnarFile&) = delete;
  ColumnarFile& operator=(const ColumnarFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const ColumnarLayout& layout() const { return layout_; }
  std::int64_t file_bytes() const { return static_cast<std::int64_t>(mapped_.size()); }

  // The block of a dtype, [rows, width]; empty when no column has it.
  std::span<const std::byte> block(DType dtype) const;

  // A column by name; nothing when there is none.
  std::optional<ColumnView> find(std::string_view name) const;

  // Reads every byte against its checksum. UserError names block and rows of the first damage.
  void verify(Progress* progress) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> mapped_;
  ColumnarLayout layout_;
};

}  // namespace headway::data
