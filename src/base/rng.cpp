#include "base/rng.h"

#include <cmath>
#include <numbers>

namespace headway {

float random_normal(std::uint64_t seed, std::uint32_t stream, std::uint32_t step, std::uint64_t index) {
  const std::uint32_t first = random_bits(seed, stream, step, 2 * index);
  const std::uint32_t second = random_bits(seed, stream, step, 2 * index + 1);
  // (0, 1]: the logarithm never sees zero.
  const double radius = std::sqrt(-2.0 * std::log((first + 1.0) * 0x1p-32));
  return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * second * 0x1p-32));
}

}  // namespace headway
