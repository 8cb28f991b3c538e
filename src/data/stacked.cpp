#include "data/stacked.h"

#include <fmt/core.h>

#include "base/error.h"

namespace headway::data {

Stacked::Stacked(std::unique_ptr<const Dataset> single, std::int64_t count)
    : single_(std::move(single)), count_(count), fields_(single_->fields()) {
  HEADWAY_CHECK(count >= 1, fmt::format("{} samples in one", count));
  if (single_->size() < count) {
    throw UserError(fmt::format("{}: {} of them make one sample, there are fewer", single_->description(), count));
  }
  for (Field& field : fields_) {
    std::vector<std::int64_t> dims = field.shape.dims();
    dims.insert(dims.begin(), count);
    field.shape = Shape(std::move(dims));
  }
}

void Stacked::read(std::int64_t index, std::span<std::byte* const> fields) const {
  std::vector<std::byte*> at(fields.begin(), fields.end());
  for (std::int64_t i = 0; i < count_; ++i) {
    single_->read(index * count_ + i, at);
    for (std::size_t field = 0; field < at.size(); ++field) at[field] += bytes_of(single_->fields()[field]);
  }
}

std::string Stacked::description() const {
  return fmt::format("{} samples of {} each: {}", size(), count_, single_->description());
}

}  // namespace headway::data
