#include "data/byte_text.h"

#include <fmt/core.h>

#include "base/error.h"

namespace headway::data {
namespace {

void check(const std::string& name, const std::string& text, const Windows& windows) {
  if (windows.sequence < 1 || windows.stride < 1 || windows.vocab < 1) {
    throw UserError(fmt::format("{}: sequence, stride and vocab must be at least 1: {}, {}, {}", name, windows.sequence,
                                windows.stride, windows.vocab));
  }
  const auto length = static_cast<std::int64_t>(text.size());
  if (length - 1 < windows.sequence) {
    throw UserError(fmt::format("{}: a text of {} bytes is too short for windows of {} tokens and the one after them",
                                name, length, windows.sequence));
  }
  for (std::size_t offset = 0; offset < text.size(); ++offset) {
    if (const auto byte = static_cast<unsigned char>(text[offset]); byte >= windows.vocab) {
      throw UserError(fmt::format("{}: the byte at offset {} is {}, not under the vocabulary of {}", name, offset, byte,
                                  windows.vocab));
    }
  }
}

}  // namespace

ByteWindows::ByteWindows(std::string name, std::string text, const Windows& windows)
    : name_(std::move(name)),
      text_(std::move(text)),
      windows_(windows),
      fields_(input_and_target(DType::kI32, Shape{windows.sequence}, DType::kI32, Shape{windows.sequence})) {
  check(name_, text_, windows_);
  size_ = (static_cast<std::int64_t>(text_.size()) - 1 - windows_.sequence) / windows_.stride + 1;
}

void ByteWindows::read(std::int64_t index, std::span<std::byte* const> fields) const {
  const auto* text = reinterpret_cast<const unsigned char*>(text_.data()) + index * windows_.stride;
  auto* input = reinterpret_cast<std::int32_t*>(fields[0]);
  auto* target = reinterpret_cast<std::int32_t*>(fields[1]);
  for (std::int64_t at = 0; at < windows_.sequence; ++at) {
    input[at] = text[at];
    target[at] = text[at + 1];
  }
}

std::string ByteWindows::description() const {
  return fmt::format("{}: {} windows of {} bytes, {} apart, of {} bytes of text", name_, size_, windows_.sequence,
                     windows_.stride, text_.size());
}

}  // namespace headway::data
