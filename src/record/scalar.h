// Words of a run file turned into numbers, switches and names. Every function throws UserError with place and key.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "record/place.h"

namespace headway::record {

// One setting: its text, and what a message about it has to name.
struct Setting {
  std::string text;
  std::string path;  // "train.steps"
  Place place;
};

struct WholeRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

struct NumberRange {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;
};

// A decimal integer inside the range. "1e3", "4.0" and "0x10" are not whole numbers.
std::int64_t to_whole(const Setting& setting, WholeRange range);

// A finite decimal number inside the range.
double to_number(const Setting& setting, NumberRange range);

// true or false (also True, TRUE, False, FALSE: the words of YAML 1.2).
bool to_flag(const Setting& setting);

// The index of the word in `names`; otherwise an error that names the nearest.
std::size_t to_choice(const Setting& setting, std::span<const std::string> names);

// The error "unknown key 'x'; did you mean 'y'?" about a key of the section `section` (empty: the top level).
UserError unknown_key(const Place& place, std::string_view section, std::string_view key,
                      std::span<const std::string> known);

}  // namespace headway::record
