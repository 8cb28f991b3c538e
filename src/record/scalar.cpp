#include "record/scalar.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/text.h"

namespace headway::record {
namespace {

UserError error_of(const Setting& setting, std::string_view what) {
  return input_error(setting.place, setting.path, fmt::format("'{}' {}", shown(setting.text), what));
}

// from_chars takes no plus sign; YAML does.
std::string_view without_plus(std::string_view text) {
  const bool signed_number = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return signed_number ? text.substr(1) : text;
}

std::string describe(NumberRange range) {
  if (std::isinf(range.high)) return fmt::format("{} {}", range.low_open ? "greater than" : "at least", range.low);
  return fmt::format("in {}{}, {}{}", range.low_open ? '(' : '[', range.low, range.high, range.high_open ? ')' : ']');
}

}  // namespace

std::int64_t to_whole(const Setting& setting, WholeRange range) {
  const std::string_view text = without_plus(setting.text);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::invalid_argument || end != text.data() + text.size()) {
    throw error_of(setting, "is not a whole number");
  }
  const bool overflow = code == std::errc::result_out_of_range;
  const bool negative = text.starts_with('-');
  if (overflow ? negative : value < range.least) {
    throw error_of(setting, fmt::format("is too small; it must be at least {}", range.least));
  }
  if (overflow || value > range.most) {
    throw error_of(setting, fmt::format("is too large; it must be at most {}", range.most));
  }
  return value;
}

double to_number(const Setting& setting, NumberRange range) {
  const std::string_view text = without_plus(setting.text);
  // from_chars reads "nan", "inf" and "infinity"; YAML writes them .nan and .inf. None of them is a setting.
  if (text.find_first_of("nN") != std::string_view::npos) throw error_of(setting, "is not a finite number");
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::invalid_argument || end != text.data() + text.size()) {
    throw error_of(setting, "is not a number");
  }
  if (code == std::errc::result_out_of_range || !std::isfinite(value)) {
    throw error_of(setting, "does not fit a 64-bit floating-point number");
  }
  const bool low = range.low_open ? value <= range.low : value < range.low;
  const bool high = range.high_open ? value >= range.high : value > range.high;
  if (low || high) throw error_of(setting, fmt::format("is out of range; it must be {}", describe(range)));
  return value;
}

bool to_flag(const Setting& setting) {
  const std::string& text = setting.text;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  throw error_of(setting, "is neither true nor false");
}

std::size_t to_choice(const Setting& setting, std::span<const std::string> names) {
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (names[index] == setting.text) return index;
  }
  throw error_of(setting, fmt::format("is not known{}", suggestion(shown(setting.text), names)));
}

UserError unknown_key(const Place& place, std::string_view section, std::string_view key,
                      std::span<const std::string> known) {
  const std::string name = shown(key);
  return input_error(place, section, fmt::format("unknown key '{}'{}", name, suggestion(name, known)));
}

}  // namespace headway::record
