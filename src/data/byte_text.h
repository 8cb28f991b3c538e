// Text as bytes, cut into windows for language models.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"

namespace headway::data {

struct Windows {
  std::int64_t sequence = 256;  // tokens in a window
  std::int64_t stride = 1;      // from one window to the next
  std::int64_t vocab = 256;     // a token is a byte, and less than this
};

// Window i: input i32 [sequence] = the bytes from i * stride on, target i32 [sequence] = the byte after each.
class ByteWindows : public Dataset {
 public:
  // `name` says in messages which text it is. UserError when the text is shorter than sequence + 1, or has a byte that
  // is not in the vocabulary.
  ByteWindows(std::string name, std::string text, const Windows& windows);

  std::int64_t size() const override { return size_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override;
  std::string description() const override;

 private:
  std::string name_;
  std::string text_;
  Windows windows_;
  std::int64_t size_ = 0;
  std::vector<Field> fields_;
};

}  // namespace headway::data
