// Writes a columnar file row by row, any number of them, in bounded memory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/market/columnar.h"

namespace headway::data {

// Rows go to files beside `path`, one for each block; finish() puts them together, syncs, reads everything back against
// the checksums and renames. Until then an old file of that name stays as it is, and nothing is left of a writer that
// goes without finish().
class ColumnarWriter {
 public:
  // UserError for no columns, an empty name, or two columns of one name; EnvironmentError when nothing can be written
  // there (later members throw it for a full disk).
  ColumnarWriter(std::filesystem::path path, std::vector<Column> columns, std::string origin);
  ~ColumnarWriter();

  // The next row is the first of a new segment (a day). Segments without rows vanish.
  void begin_segment();

  // Where the values of the next row go: the columns of that dtype in their order. T is float, double, std::int32_t or
  // std::int64_t, of which there must be a column. end_row() takes them.
  template <class T>
  T* row();
  void end_row();

  std::int64_t rows() const { return layout_.rows; }

  // Completes the file. Nothing may be called after it.
  void finish();

 private:
  class Spool;

  std::byte* row_bytes(DType dtype);

  std::filesystem::path path_;
  ColumnarLayout layout_;
  std::vector<std::unique_ptr<Spool>> spools_;  // by block; the first becomes the file
  bool new_segment_ = true;
};

template <>
float* ColumnarWriter::row<float>();
template <>
double* ColumnarWriter::row<double>();
template <>
std::int32_t* ColumnarWriter::row<std::int32_t>();
template <>
std::int64_t* ColumnarWriter::row<std::int64_t>();

}  // namespace headway::data
