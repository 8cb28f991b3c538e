// A set of samples in random access: what a training step reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace headway::data {

// One tensor of a sample; the shape is that of a single sample.
struct Field {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;

  bool operator==(const Field&) const = default;
};

// Size of the field in one sample.
inline std::int64_t bytes_of(const Field& field) {
  return field.shape.elements() * size_of(field.dtype);
}

// The two fields that every data set has, in this order.
inline std::vector<Field> input_and_target(DType input, Shape input_shape, DType target, Shape target_shape) {
  return {{"input", input, std::move(input_shape)}, {"target", target, std::move(target_shape)}};
}

// What the best constant answer reaches, so that a model's figures can be judged: the share of the commonest class, or
// the mean squared error of the mean.
struct Baseline {
  std::optional<double> accuracy = {};
  std::optional<double> loss = {};
};

// Sample i is a pure function of i, so any number of threads may read at once and in any order.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // Number of samples.
  virtual std::int64_t size() const = 0;

  // `input` and `target`.
  virtual const std::vector<Field>& fields() const = 0;

  // Writes sample `index` in [0, size()): bytes_of(field) bytes at the pointer of each field, in the order of fields().
  virtual void read(std::int64_t index, std::span<std::byte* const> fields) const = 0;

  // As read(index), for a caller who reads `next` after it: its memory may be fetched meanwhile.
  virtual void read_then(std::int64_t index, [[maybe_unused]] std::int64_t next,
                         std::span<std::byte* const> fields) const {
    read(index, fields);
  }

  // One line for people: what the samples are and how many.
  virtual std::string description() const = 0;

  // Over all samples; empty where it says nothing.
  virtual Baseline baseline() const { return {}; }
};

}  // namespace headway::data
