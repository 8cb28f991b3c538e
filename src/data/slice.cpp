#include "data/slice.h"

#include <fmt/core.h>

#include "base/error.h"

namespace headway::data {

Slice::Slice(std::shared_ptr<const Dataset> whole, std::int64_t first, std::int64_t count)
    : whole_(std::move(whole)), first_(first), count_(count) {
  HEADWAY_CHECK(first >= 0 && count >= 0 && first <= whole_->size() && count <= whole_->size() - first,
                fmt::format("{} samples from {} on, of {}", count, first, whole_->size()));
}

std::string Slice::description() const {
  return fmt::format("samples {} to {} of {}", first_, first_ + count_ - 1, whole_->description());
}

}  // namespace headway::data
