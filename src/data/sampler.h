// The order of samples in a training run.
#pragma once

#include <cstdint>
#include <span>

#include "data/permutation.h"

namespace headway::data {

// Everything needed to go on in the middle of an epoch.
struct SamplerState {
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // samples of this epoch already taken

  bool operator==(const SamplerState&) const = default;
};
static_assert(sizeof(SamplerState) == 16);

// Which sample comes at which position, where a position counts all samples since the start of training: epoch =
// position / n. Each epoch takes every sample once, in a random order of its own (or always 0 .. n - 1), so a batch may
// straddle two epochs and nothing is dropped. The order knows no ranks and no batches.
class Sampler {
 public:
  // UserError when the data set is empty.
  Sampler(std::uint64_t seed, std::int64_t samples, bool shuffle);

  // The sample at a position >= 0.
  std::int64_t index(std::int64_t position) const;

  // The samples at the positions from `position` on.
  void indices(std::int64_t position, std::span<std::int64_t> samples) const;

  // A position as epoch and place in it, and back. UserError for a state that this data set cannot have had.
  SamplerState state(std::int64_t position) const;
  std::int64_t position(const SamplerState& state) const;

  std::int64_t samples() const { return permutation_.size(); }

 private:
  std::uint64_t seed_;
  bool shuffle_;
  Permutation permutation_;
};

}  // namespace headway::data
