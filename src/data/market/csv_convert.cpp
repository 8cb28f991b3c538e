// CSV with a header into a columnar file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "data/market/columnar_writer.h"
#include "data/market/convert.h"
#include "data/market/csv_reader.h"

namespace headway::data {
namespace {

constexpr int kInferredRows = 1000;
constexpr double kExactInF32 = 16'777'216;  // 2^24: whole numbers beyond it have no f32 of their own

enum class Kind : std::uint8_t { kF32, kF64, kI32, kI64, kTime, kSkip };
constexpr std::array<std::string_view, 6> kKindNames = {"f32", "f64", "i32", "i64", "time", "skip"};

struct CsvColumn {
  std::string name;
  Kind kind = Kind::kF32;
  std::size_t slot = 0;  // among the columns of its dtype
};

DType dtype_of(Kind kind) {
  switch (kind) {
    case Kind::kF32:
      return DType::kF32;
    case Kind::kF64:
      return DType::kF64;
    case Kind::kI32:
      return DType::kI32;
    default:
      return DType::kI64;
  }
}

bool is_missing(std::string_view cell) {
  constexpr std::array<std::string_view, 9> kWords = {"", "nan", "NaN", "NAN", "NA", "N/A", "null", "NULL", "None"};
  return std::find(kWords.begin(), kWords.end(), cell) != kWords.end();
}

[[noreturn]] void fail_at(const CsvReader& reader, const std::string& column, const std::string& what) {
  throw UserError(fmt::format("{}: line {}, column '{}': {}", reader.path().string(), reader.line(), column, what));
}

// Times; numbers too large for f32 as i64 or f64; else f32: text is then an error at its first cell.
Kind infer(const std::filesystem::path& path, std::size_t column) {
  CsvReader reader(path);
  reader.next();
  bool time = true, large = false, whole = true, any = false;
  for (int row = 0; row < kInferredRows && reader.next(); ++row) {
    if (column >= reader.cells().size() || is_missing(reader.cells()[column])) continue;
    const std::string_view cell = reader.cells()[column];
    any = true;
    time = time && to_time_ns(cell).has_value() && !to_double(cell);
    const auto integer = to_int64(cell);
    whole = whole && integer.has_value();
    const auto number = to_double(cell);
    large = large || (number && std::abs(*number) > kExactInF32);
  }
  if (any && time) return Kind::kTime;
  return !any || !large ? Kind::kF32 : whole ? Kind::kI64 : Kind::kF64;
}

std::vector<CsvColumn> read_header(const std::filesystem::path& path) {
  CsvReader reader(path);
  if (!reader.next())
    throw UserError(fmt::format("{}: is empty; a first line with the names of columns is needed", path.string()));
  std::vector<CsvColumn> columns;
  for (const std::string_view cell : reader.cells()) {
    if (cell.empty() || to_double(cell)) {
      throw UserError(
          fmt::format("{}: line {}: '{}' stands where the name of column {} should; the first line must name "
                      "the columns",
                      path.string(), reader.line(), cell, columns.size() + 1));
    }
    columns.push_back({.name = std::string(cell)});
  }
  return columns;
}

// Types that were given, then those of the other columns; what is inferred but no f32 gets a note: windows take their
// features from f32 columns.
void apply_types(std::vector<CsvColumn>& columns, const ConvertOptions& options, ConvertReport& report) {
  std::vector<std::string> names;
  for (const CsvColumn& column : columns) names.push_back(column.name);
  std::vector<bool> given(columns.size());
  for (const std::string& type : options.types) {
    const std::size_t equals = type.rfind('=');
    const std::string name = type.substr(0, equals);
    const auto column = std::find(names.begin(), names.end(), name) - names.begin();
    if (equals == std::string::npos || column == static_cast<std::ptrdiff_t>(names.size())) {
      throw UserError(fmt::format(
          "--types {}: {}", type,
          equals == std::string::npos
              ? "write NAME=TYPE"
              : fmt::format("{} has no column '{}'{}", options.inputs[0].string(), name, suggestion(name, names))));
    }
    const auto kind = std::find(kKindNames.begin(), kKindNames.end(), type.substr(equals + 1));
    if (kind == kKindNames.end()) {
      throw UserError(fmt::format("--types {}: no type '{}'; known: {}", type, type.substr(equals + 1),
                                  fmt::join(kKindNames, ", ")));
    }
    columns[static_cast<std::size_t>(column)].kind = static_cast<Kind>(kind - kKindNames.begin());
    given[static_cast<std::size_t>(column)] = true;
  }
  std::array<std::size_t, 4> slots = {};
  for (std::size_t index = 0; index < columns.size(); ++index) {
    CsvColumn& column = columns[index];
    if (!given[index]) {
      column.kind = infer(options.inputs[0], index);
      if (column.kind == Kind::kI64 || column.kind == Kind::kF64) {
        report.notes.push_back(fmt::format(
            "column '{}' has values over 2^24 and becomes {}, so it is no feature; --types {}=f32 rounds it to one",
            column.name, name_of(dtype_of(column.kind)), column.name));
      }
    }
    if (column.kind == Kind::kSkip) continue;
    const auto type = std::find(kColumnTypes.begin(), kColumnTypes.end(), dtype_of(column.kind)) - kColumnTypes.begin();
    column.slot = slots[static_cast<std::size_t>(type)]++;
  }
}

// Converts rows into a writer; one value of each column is kept for filling forward.
class RowConverter {
 public:
  RowConverter(const std::vector<CsvColumn>& columns, Fill fill, ColumnarWriter& writer, ConvertReport& report)
      : columns_(columns),
        fill_(fill),
        writer_(writer),
        report_(report),
        doubles_(columns.size()),
        wholes_(columns.size()) {}

  void begin_file() { have_row_ = false; }

  void convert(const CsvReader& reader) {
    const auto cells = reader.cells();
    if (cells.size() != columns_.size()) {
      throw UserError(fmt::format("{}: line {} has {} cells, the header names {} columns", reader.path().string(),
                                  reader.line(), cells.size(), columns_.size()));
    }
    std::int64_t filled = 0;
    for (std::size_t index = 0; index < cells.size(); ++index) {
      if (columns_[index].kind == Kind::kSkip) continue;
      if (!is_missing(cells[index])) {
        parse(reader, index);
        continue;
      }
      if (fill_ == Fill::kDrop) {
        ++report_.dropped;
        return;
      }
      fill(reader, index);
      ++filled;
    }
    report_.filled += filled;
    for (std::size_t index = 0; index < columns_.size(); ++index) store(index);
    writer_.end_row();
    have_row_ = true;
  }

 private:
  void fill(const CsvReader& reader, std::size_t index) {
    const std::string& name = columns_[index].name;
    const std::string cell(reader.cells()[index]);
    if (fill_ == Fill::kNone) {
      fail_at(reader, name,
              fmt::format("{}; --fill forward, zero or drop says what to do",
                          cell.empty() ? "the cell is empty" : fmt::format("'{}' is no value", cell)));
    }
    if (fill_ == Fill::kForward && !have_row_) {
      fail_at(reader, name, "the cell is empty, and there is no row above to fill it from");
    }
    if (fill_ == Fill::kZero) doubles_[index] = 0, wholes_[index] = 0;
  }

  void parse(const CsvReader& reader, std::size_t index) {
    const CsvColumn& column = columns_[index];
    const std::string_view cell = reader.cells()[index];
    const auto refuse = [&](const char* what) { fail_at(reader, column.name, fmt::format("'{}' {}", cell, what)); };
    if (column.kind == Kind::kF32 || column.kind == Kind::kF64) {
      const auto value = to_double(cell);
      if (!value)
        refuse(to_time_ns(cell) ? "is a time, the column was numbers; give --types NAME=time" : "is not a number");
      if (!std::isfinite(*value)) refuse("is not finite");
      if (column.kind == Kind::kF32 && std::abs(*value) > std::numeric_limits<float>::max()) {
        refuse("is too large for f32; give --types NAME=f64");
      }
      doubles_[index] = *value;
      return;
    }
    const auto whole = column.kind == Kind::kTime ? to_time_ns(cell) : to_int64(cell);
    if (!whole) {
      refuse(column.kind == Kind::kTime ? "is not a time such as 2024-03-01 09:30:00"
                                        : "is not a whole number; give --types NAME=f64");
    }
    if (column.kind == Kind::kI32 && *whole != static_cast<std::int32_t>(*whole)) refuse("does not fit into i32");
    wholes_[index] = *whole;
  }

  void store(std::size_t index) {
    const CsvColumn& column = columns_[index];
    switch (column.kind) {
      case Kind::kF32:
        writer_.row<float>()[column.slot] = static_cast<float>(doubles_[index]);
        return;
      case Kind::kF64:
        writer_.row<double>()[column.slot] = doubles_[index];
        return;
      case Kind::kI32:
        writer_.row<std::int32_t>()[column.slot] = static_cast<std::int32_t>(wholes_[index]);
        return;
      case Kind::kI64:
      case Kind::kTime:
        writer_.row<std::int64_t>()[column.slot] = wholes_[index];
        return;
      case Kind::kSkip:
        return;
    }
  }

  const std::vector<CsvColumn>& columns_;
  Fill fill_;
  ColumnarWriter& writer_;
  ConvertReport& report_;
  std::vector<double> doubles_;
  std::vector<std::int64_t> wholes_;
  bool have_row_ = false;
};

}  // namespace

ConvertReport convert_csv(const ConvertOptions& options) {
  std::vector<CsvColumn> columns = read_header(options.inputs[0]);
  ConvertReport report;
  apply_types(columns, options, report);
  std::vector<Column> written;
  for (const CsvColumn& column : columns) {
    if (column.kind != Kind::kSkip) written.push_back({column.name, dtype_of(column.kind)});
  }
  std::vector<std::string> names;
  for (const std::filesystem::path& input : options.inputs) names.push_back(input.filename().string());
  ColumnarWriter writer(options.output, written, fmt::format("CSV: {}", fmt::join(names, ", ")));
  RowConverter converter(columns, options.fill, writer, report);
  for (const std::filesystem::path& input : options.inputs) {
    const std::vector<CsvColumn> header = read_header(input);
    if (!std::equal(header.begin(), header.end(), columns.begin(), columns.end(),
                    [](const CsvColumn& a, const CsvColumn& b) { return a.name == b.name; })) {
      throw UserError(fmt::format("{} and {} name different columns", options.inputs[0].string(), input.string()));
    }
    CsvReader reader(input);
    reader.next();
    writer.begin_segment();
    converter.begin_file();
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(input));
    constexpr std::int64_t kShownEvery = 4096;
    while (reader.next()) {
      converter.convert(reader);
      if (options.progress != nullptr && reader.line() % kShownEvery == 0) {
        options.progress->update("convert", reader.bytes_read() >> 20, bytes >> 20, input.filename().string());
      }
    }
  }
  if (writer.rows() == 0) throw UserError(fmt::format("{}: no rows under the header", options.inputs[0].string()));
  writer.finish();
  return report;
}

}  // namespace headway::data
