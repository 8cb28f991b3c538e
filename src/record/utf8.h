// Is this text at all?
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headway::record {

struct TextFault {
  int line = 0;  // lines before the fault
  std::string what;
};

// The first place where the bytes are not UTF-8 text: a malformed sequence, or a control character other than tab and
// line ends. Other encodings are found by this too (their bytes are malformed or zero).
std::optional<TextFault> find_text_fault(std::string_view text);

}  // namespace headway::record
