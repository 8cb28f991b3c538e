#include "record/place.h"

#include <fmt/core.h>

namespace headway::record {

std::string prefix(const Place& place) {
  if (place.file.empty()) return "";
  return place.line > 0 ? fmt::format("{}:{}: ", place.file, place.line) : fmt::format("{}: ", place.file);
}

UserError input_error(const Place& place, std::string_view path, std::string_view what) {
  return UserError(fmt::format("{}{}{}{}", prefix(place), path, path.empty() ? "" : ": ", what));
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::size_t length = text.size();
  if (length > kLongest) {
    length = kLongest;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;  // whole UTF-8 characters
  }
  std::string result;
  for (const char character : text.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(character);
    result += byte < 0x20 || byte == 0x7F ? ' ' : character;
  }
  return length < text.size() ? result + "..." : result;
}

}  // namespace headway::record
