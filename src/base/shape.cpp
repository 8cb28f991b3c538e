#include "base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headway {

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims_) product *= dim;
  return product;
}

std::int64_t Shape::rows() const {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis + 1 < dims_.size(); ++axis) product *= dims_[axis];
  return product;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dims(), ", "));
}

}  // namespace headway
