#include "data/market/csv_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include "base/error.h"

namespace headway::data {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;
constexpr std::size_t kLongestLine = std::size_t{1} << 24;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

template <class T>
std::optional<T> parsed(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `count` digits at the front of `text`, then `after` (unless 0) or the end.
std::optional<int> take_digits(std::string_view& text, std::size_t count, char after) {
  if (text.size() < count) return std::nullopt;
  const auto value = parsed<int>(text.substr(0, count));
  if (!value || text[0] == '+' || text[0] == '-') return std::nullopt;
  text.remove_prefix(count);
  if (after != 0) {
    if (!text.starts_with(after)) return std::nullopt;
    text.remove_prefix(1);
  }
  return value;
}

std::optional<std::int64_t> time_of_day_ns(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);
  const auto hour = take_digits(text, 2, ':'), minute = take_digits(text, 2, text.size() > 2 ? ':' : '\0');
  if (!hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  std::int64_t ns = (*hour * 60 + *minute) * std::int64_t{60'000'000'000};
  if (text.empty()) return ns;
  const auto second = take_digits(text, 2, '\0');
  if (!second || *second > 60) return std::nullopt;
  ns += *second * std::int64_t{1'000'000'000};
  if (text.empty()) return ns;
  if (text[0] != '.' || text.size() == 1 || text.size() > 10) return std::nullopt;
  std::string digits(text.substr(1));
  digits.resize(9, '0');
  const auto fraction = parsed<std::int64_t>(digits);
  if (!fraction || *fraction < 0 || digits[0] == '+') return std::nullopt;
  return ns + *fraction;
}

}  // namespace

std::optional<double> to_double(std::string_view text) {
  return parsed<double>(text);
}

std::optional<std::int64_t> to_int64(std::string_view text) {
  return parsed<std::int64_t>(text);
}

std::optional<std::int64_t> to_time_ns(std::string_view text) {
  if (text.find('-') == std::string_view::npos) return time_of_day_ns(text);
  const auto year = take_digits(text, 4, '-'), month = take_digits(text, 2, '-'), day = take_digits(text, 2, '\0');
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t ns = std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86'400'000'000'000};
  if (text.empty()) return ns;
  if (text[0] != ' ' && text[0] != 'T') return std::nullopt;
  const auto time = time_of_day_ns(text.substr(1));
  return time ? std::optional(ns + *time) : std::nullopt;
}

CsvReader::CsvReader(std::filesystem::path path) : path_(std::move(path)), buffer_(kBuffer) {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) throw UserError(fmt::format("no such file: {}", path_.string()));
  if (std::filesystem::is_directory(path_, ignored)) {
    throw UserError(fmt::format("{} is a directory, a file is needed", path_.string()));
  }
  file_.reset(std::fopen(path_.c_str(), "rbe"));
  if (!file_) throw EnvironmentError(fmt::format("cannot read {}: {}", path_.string(), std::strerror(errno)));
}

bool CsvReader::next_line(std::string_view& line) {
  std::size_t searched = begin_;
  for (;;) {
    if (const void* found = std::memchr(buffer_.data() + searched, '\n', end_ - searched)) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      line = {buffer_.data() + begin_, at - begin_};
      begin_ = at + 1;
      break;
    }
    if (ended_) {
      line = {buffer_.data() + begin_, end_ - begin_};
      if (begin_ == end_) return false;
      begin_ = end_;
      break;
    }
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    searched = end_;
    if (end_ == buffer_.size()) {
      if (end_ >= kLongestLine) {
        throw UserError(
            fmt::format("{}: line {} is longer than {} MiB", path_.string(), line_ + 1, kLongestLine >> 20));
      }
      buffer_.resize(2 * buffer_.size());
    }
    const std::size_t count = std::fread(buffer_.data() + end_, 1, buffer_.size() - end_, file_.get());
    if (count == 0 && std::ferror(file_.get()) != 0) {
      throw EnvironmentError(fmt::format("cannot read {}: {}", path_.string(), std::strerror(errno)));
    }
    ended_ = count == 0;
    end_ += count;
  }
  ++line_;
  consumed_ += static_cast<std::int64_t>(line.size()) + 1;
  return true;
}

bool CsvReader::next() {
  std::string_view line;
  do {
    if (!next_line(line)) return false;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  } while (trimmed(line).empty());
  cells_.clear();
  line.find('"') == std::string_view::npos ? split(line) : split_quoted(line);
  return true;
}

void CsvReader::split(std::string_view line) {
  for (;;) {
    const std::size_t comma = line.find(',');
    cells_.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

void CsvReader::split_quoted(std::string_view line) {
  unquoted_.assign(1, "");
  bool inside = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char each = line[at];
    if (each == '"' && inside && at + 1 < line.size() && line[at + 1] == '"') {
      unquoted_.back() += '"';
      ++at;
    } else if (each == '"') {
      inside = !inside;
    } else if (each == ',' && !inside) {
      unquoted_.emplace_back();
    } else {
      unquoted_.back() += each;
    }
  }
  if (inside) throw UserError(fmt::format("{}: line {}: a quote is not closed", path_.string(), line_));
  for (const std::string& cell : unquoted_) cells_.push_back(trimmed(cell));
}

}  // namespace headway::data
