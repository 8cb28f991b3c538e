// Consecutive samples of a data set taken together: the instruments of a day, the rows of a table in groups.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace headway::data {

// Sample i is samples i * count .. i * count + count - 1 of another set, along a new first axis. What is left over at
// the end is not used.
class Stacked : public Dataset {
 public:
  // UserError when the other set has fewer than `count` samples.
  Stacked(std::unique_ptr<const Dataset> single, std::int64_t count);

  std::int64_t size() const override { return single_->size() / count_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override;
  std::string description() const override;

 private:
  std::unique_ptr<const Dataset> single_;
  std::int64_t count_;
  std::vector<Field> fields_;
};

}  // namespace headway::data
