// Random numbers of tests: the same on every machine for one seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/shape.h"

namespace headway::ops_test {

using Tensor = std::vector<double>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  // A sequence of its own for each name, so that a new op does not change the cases of the others.
  explicit Random(std::string_view name) {
    for (const char letter : name) seed_ = seed_ * 1099511628211ULL + static_cast<unsigned char>(letter);
  }

  // Uniform in [low, high), 24 random bits.
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(uniform_from_bits(next()));
  }
  // Uniform in low..high, both included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }

  Tensor tensor(const Shape& shape, double low = -2, double high = 2) {
    Tensor values(static_cast<std::size_t>(shape.elements()));
    for (double& value : values) value = uniform(low, high);
    return values;
  }
  Tensor integers(const Shape& shape, std::int64_t low, std::int64_t high) {
    Tensor values(static_cast<std::size_t>(shape.elements()));
    for (double& value : values) value = static_cast<double>(integer(low, high));
    return values;
  }
  // No two elements closer than `gap`, none closer than gap / 2 to zero: away from every kink.
  Tensor distinct(const Shape& shape, double gap = 0.1) {
    Tensor values(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (static_cast<double>(i) - static_cast<double>(values.size() / 2) + 0.5) * gap;
    }
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
    return values;
  }

 private:
  // The word random_bits(seed, 0, 0, next), four of them from one block.
  std::uint32_t next() {
    if (next_ % 4 == 0) block_ = philox(seed_, {static_cast<std::uint32_t>(next_ / 4), 0, 0, 0});
    return block_[next_++ % 4];
  }

  std::uint64_t seed_ = 0;
  std::uint64_t next_ = 0;
  PhiloxBlock block_ = {};
};

}  // namespace headway::ops_test
