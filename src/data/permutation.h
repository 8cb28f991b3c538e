// A random order of [0, n) computed one element at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headway::data {

// A permutation of [0, n) per (seed, epoch), in constant time and memory:
//
// *Feistel network.* Write an index as a pair (left, right) with left in [0, a) and right in [0, b). A round adds a
// keyed random function of one half to the other, left += F(right) mod a or right += F(left) mod b, and the rounds
// alternate. Whatever F is, a round can be undone, so the network is a permutation of [0, a * b). (Luby, Rackoff: "How
// to construct pseudorandom permutations from pseudorandom functions", 1988; halves of any size: Black, Rogaway:
// "Ciphers with arbitrary finite domains", CT-RSA 2002, "generalized Feistel".)
//
// *Cycle walking.* a = ceil(sqrt(n)) and b = ceil(n / a), so a * b is n or a little more. An image outside [0, n) is
// permuted again until it falls inside; following a cycle of a permutation to its next member in [0, n) is a
// permutation of [0, n). Since a * b < n + a, the expected number of walks is under 1 + 1/sqrt(n) for large n, and at
// most 4/3 (n = 3).
//
// *F* is Philox (base/rng.h) keyed by the seed, counting (half, round, epoch).
class Permutation {
 public:
  // n >= 1, up to 2^62.
  explicit Permutation(std::int64_t n);

  // Where `index` in [0, n) goes in the order of (seed, epoch).
  std::int64_t operator()(std::uint64_t seed, std::uint64_t epoch, std::int64_t index) const;

  // The same for many, in place, in less than half of the time.
  void apply(std::uint64_t seed, std::uint64_t epoch, std::span<std::int64_t> indices) const;

  std::int64_t size() const { return static_cast<std::int64_t>(size_); }

 private:
  template <std::size_t kCount>
  void step(std::uint64_t seed, std::uint64_t epoch, std::int64_t* indices) const;

  std::uint64_t size_;
  std::uint64_t left_size_;   // a
  std::uint64_t right_size_;  // b
};

}  // namespace headway::data
