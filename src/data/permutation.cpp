#include "data/permutation.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace headway::data {
namespace {

// Four rounds are indistinguishable from random for large halves (Luby, Rackoff), six leave a margin; tiny ones, where
// F takes few values, need more. Counting how often each element comes to each place over 200,000 epochs, for n = 2 ..
// 24: a chi-square test rejects n = 3, 5, 7, 8 and 18 at 4 rounds, still n = 5 at 10, and none at 12.
constexpr std::uint32_t kRounds = 6;
constexpr std::uint32_t kRoundsOfSmall = 12;
constexpr std::uint64_t kSmall = 1024;

// Second word of the counter, so that no other use of the seed (base/rng.h: the high word of a block number) meets it.
constexpr std::uint32_t kPurpose = 0x53485546;  // "SHUF"

// Uniform in [0, limit), limit < 2^32, but for a bias of 2^-32: the high half of a product, which is cheaper than a
// remainder.
std::uint64_t round_function(std::uint64_t seed, std::uint64_t epoch, std::uint32_t round, std::uint64_t half,
                             std::uint64_t limit) {
  const PhiloxBlock words = philox(seed, {static_cast<std::uint32_t>(half), kPurpose + round,
                                          static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32)});
  const std::uint64_t low = words[0] * limit >> 32;
  return (words[1] * limit + low) >> 32;
}

std::uint64_t add(std::uint64_t left, std::uint64_t right, std::uint64_t modulus) {
  const std::uint64_t sum = left + right;
  return sum >= modulus ? sum - modulus : sum;
}

std::uint64_t ceil_sqrt(std::uint64_t n) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  while (root > 0 && root * root >= n) --root;  // the floating-point root may be off by one either way
  while (root * root < n) ++root;
  return root;
}

}  // namespace

Permutation::Permutation(std::int64_t n) : size_(static_cast<std::uint64_t>(n)) {
  HEADWAY_CHECK(n >= 1 && n <= std::int64_t{1} << 62, fmt::format("permutation of {} elements", n));
  left_size_ = ceil_sqrt(size_);
  right_size_ = (size_ + left_size_ - 1) / left_size_;
}

// Once through the network. One element waits for Philox all the time; several keep the multipliers busy.
template <std::size_t kCount>
void Permutation::step(std::uint64_t seed, std::uint64_t epoch, std::int64_t* indices) const {
  const std::uint32_t rounds = size_ < kSmall ? kRoundsOfSmall : kRounds;
  std::array<std::uint64_t, kCount> left = {}, right = {};
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto index = static_cast<std::uint64_t>(indices[i]);
    left[i] = index % left_size_;
    right[i] = index / left_size_;
  }
  for (std::uint32_t round = 0; round < rounds; round += 2) {
    for (std::size_t i = 0; i < kCount; ++i) {
      left[i] = add(left[i], round_function(seed, epoch, round, right[i], left_size_), left_size_);
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      right[i] = add(right[i], round_function(seed, epoch, round + 1, left[i], right_size_), right_size_);
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) indices[i] = static_cast<std::int64_t>(left[i] + right[i] * left_size_);
}

void Permutation::apply(std::uint64_t seed, std::uint64_t epoch, std::span<std::int64_t> indices) const {
  constexpr std::size_t kAtOnce = 8;
  for (const std::int64_t index : indices) {
    HEADWAY_CHECK(index >= 0 && index < size(), fmt::format("index {} of a permutation of {}", index, size_));
  }
  std::size_t i = 0;
  for (; i + kAtOnce <= indices.size(); i += kAtOnce) step<kAtOnce>(seed, epoch, indices.data() + i);
  for (; i < indices.size(); ++i) step<1>(seed, epoch, indices.data() + i);
  for (std::int64_t& image : indices) {
    while (image >= size()) step<1>(seed, epoch, &image);
  }
}

std::int64_t Permutation::operator()(std::uint64_t seed, std::uint64_t epoch, std::int64_t index) const {
  apply(seed, epoch, {&index, 1});
  return index;
}

}  // namespace headway::data
