// A part of a data set as a data set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace headway::data {

// Samples first .. first + count - 1 of another set. That one is shared because the training and the validation part
// are two slices of what is in memory once.
class Slice : public Dataset {
 public:
  Slice(std::shared_ptr<const Dataset> whole, std::int64_t first, std::int64_t count);

  std::int64_t size() const override { return count_; }
  const std::vector<Field>& fields() const override { return whole_->fields(); }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override {
    whole_->read(first_ + index, fields);
  }
  std::string description() const override;

 private:
  std::shared_ptr<const Dataset> whole_;
  std::int64_t first_;
  std::int64_t count_;
};

}  // namespace headway::data
