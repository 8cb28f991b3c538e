// Counter-based random numbers: a value depends on (seed, stream, step, element), never on who computes it.
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011): ten rounds of a
// bijection on four 32-bit words of counter under two words of key; each counter gives four independent words.
#pragma once

#include <array>
#include <cstdint>

namespace headway {

using PhiloxBlock = std::array<std::uint32_t, 4>;

// The four words of one counter under one 64-bit key.
constexpr PhiloxBlock philox(std::uint64_t key, PhiloxBlock counter) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

// The word of element `index` of stream `stream` (an op, a parameter, a purpose) at `step`.
constexpr std::uint32_t random_bits(std::uint64_t seed, std::uint32_t stream, std::uint32_t step, std::uint64_t index) {
  const std::uint64_t block = index / 4;
  const PhiloxBlock words =
      philox(seed, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), stream, step});
  return words[index % 4];
}

// Uniform in [0, 1) with 24 random bits, exact in f32.
constexpr float uniform_from_bits(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24F;
}

// Standard normal value of element `index` (Box-Muller on two words of its own).
float random_normal(std::uint64_t seed, std::uint32_t stream, std::uint32_t step, std::uint64_t index);

}  // namespace headway
