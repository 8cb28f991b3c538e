// Comma-separated text, line by line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::data {

// Reads a file of any length through one buffer that grows to the longest line. Cells are views of it, blanks around
// them removed; a cell in double quotes may hold commas (and "" for a quote), but no line end. Empty lines are skipped.
class CsvReader {
 public:
  // UserError when there is no such file, EnvironmentError when it cannot be read.
  explicit CsvReader(std::filesystem::path path);

  // Goes to the next line; false at the end. UserError for a quote that is not closed or a line over 16 MiB.
  bool next();

  // The cells of this line, valid until the next.
  std::span<const std::string_view> cells() const { return cells_; }
  std::int64_t line() const { return line_; }  // from 1
  std::int64_t bytes_read() const { return consumed_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  bool next_line(std::string_view& line);
  void split(std::string_view line);
  void split_quoted(std::string_view line);

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what is in the buffer and not yet returned
  bool ended_ = false;
  std::int64_t line_ = 0;
  std::int64_t consumed_ = 0;
  std::vector<std::string_view> cells_;
  std::vector<std::string> unquoted_;  // cells in which "" became "
};

// A whole text as a number: decimal, of any exponent. Nothing when it is something else or does not fit.
std::optional<double> to_double(std::string_view text);
std::optional<std::int64_t> to_int64(std::string_view text);

// "2024-03-01", "2024-03-01 09:30:00.25", "2024-03-01T09:30:00Z" as nanoseconds since 1970, and "09:30:00" as
// nanoseconds since midnight. Nothing when it is something else.
std::optional<std::int64_t> to_time_ns(std::string_view text);

}  // namespace headway::data
