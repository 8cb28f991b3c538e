#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace headway {
namespace {

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours ("gtp" is one from "gpt").
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::vector<std::size_t>> rows(left.size() + 1, std::vector<std::size_t>(right.size() + 1, 0));
  for (std::size_t at = 0; at <= left.size(); ++at) rows[at][0] = at;
  std::iota(rows[0].begin(), rows[0].end(), std::size_t{0});
  for (std::size_t at = 1; at <= left.size(); ++at) {
    for (std::size_t to = 1; to <= right.size(); ++to) {
      const std::size_t replaced = rows[at - 1][to - 1] + (left[at - 1] == right[to - 1] ? 0 : 1);
      rows[at][to] = std::min({replaced, rows[at][to - 1] + 1, rows[at - 1][to] + 1});
      const bool swapped = at > 1 && to > 1 && left[at - 1] == right[to - 2] && left[at - 2] == right[to - 1];
      if (swapped) rows[at][to] = std::min(rows[at][to], rows[at - 2][to - 2] + 1);
    }
  }
  return rows.back().back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> names) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, (word.size() + 1) / 2) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> names) {
  if (const std::string near = nearest(word, names); !near.empty()) return fmt::format("; did you mean '{}'?", near);
  return fmt::format("; known: {}", fmt::join(names, ", "));
}

std::string format_bytes(Bytes bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes.value);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes.value) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_seconds(Seconds time) {
  const double magnitude = std::abs(time.value);
  if (magnitude >= 100) return fmt::format("{:.0f} s", time.value);
  if (magnitude >= 1) return fmt::format("{:.2f} s", time.value);
  if (magnitude >= 1e-3) return fmt::format("{:.2f} ms", time.value * 1e3);
  return fmt::format("{:.2f} us", time.value * 1e6);
}

std::string format_si(double value) {
  static constexpr std::array<const char*, 5> kPrefixes = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 1000 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

}  // namespace headway
