#include "record/utf8.h"

#include <fmt/core.h>

#include <cstdint>

namespace headway::record {
namespace {

// Length of the well-formed sequence at the start of `text`, 0 when malformed (RFC 3629: shortest form, no surrogates,
// at most U+10FFFF).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = lead & (0x7FU >> length);
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(at) & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

}  // namespace

std::optional<TextFault> find_text_fault(std::string_view text) {
  int line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F) {
      return TextFault{line, fmt::format("control character 0x{:02x}; a text file is needed", byte)};
    }
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) return TextFault{line, fmt::format("byte 0x{:02x} is not UTF-8; save the file as UTF-8", byte)};
    if (byte == '\n') ++line;
    at += length;
  }
  return std::nullopt;
}

}  // namespace headway::record
