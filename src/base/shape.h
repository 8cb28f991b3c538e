// The extents of a tensor, row-major, 64-bit.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace headway {

class Shape {
 public:
  Shape() = default;  // a scalar: rank 0, one element
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  std::int64_t rank() const { return static_cast<std::int64_t>(dims_.size()); }

  // Extent of one axis; a negative axis counts from the end.
  std::int64_t operator[](std::int64_t axis) const {
    return dims_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)];
  }
  const std::vector<std::int64_t>& dims() const { return dims_; }

  // Number of elements; 1 for a scalar.
  std::int64_t elements() const;

  // Product of all extents but the last: the number of rows of a row-wise op. 1 for a scalar.
  std::int64_t rows() const;

  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
};

// "[64, 128]".
std::string to_string(const Shape& shape);

}  // namespace headway
