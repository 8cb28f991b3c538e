#include "data/sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace headway::data {
namespace {

std::int64_t checked_size(std::int64_t samples) {
  if (samples < 1) throw UserError(fmt::format("the data set is empty: {} samples", samples));
  return samples;
}

}  // namespace

Sampler::Sampler(std::uint64_t seed, std::int64_t samples, bool shuffle)
    : seed_(seed), shuffle_(shuffle), permutation_(checked_size(samples)) {}

std::int64_t Sampler::index(std::int64_t position) const {
  std::int64_t sample = 0;
  indices(position, {&sample, 1});
  return sample;
}

void Sampler::indices(std::int64_t position, std::span<std::int64_t> samples) const {
  while (!samples.empty()) {
    const SamplerState at = state(position);
    const std::int64_t left = permutation_.size() - at.position;  // of the epoch
    const auto some = samples.first(std::min(samples.size(), static_cast<std::size_t>(left)));
    std::iota(some.begin(), some.end(), at.position);
    if (shuffle_) permutation_.apply(seed_, static_cast<std::uint64_t>(at.epoch), some);
    samples = samples.subspan(some.size());
    position += static_cast<std::int64_t>(some.size());
  }
}

SamplerState Sampler::state(std::int64_t position) const {
  HEADWAY_CHECK(position >= 0, fmt::format("position {}", position));
  return {.epoch = position / samples(), .position = position % samples()};
}

std::int64_t Sampler::position(const SamplerState& state) const {
  if (state.epoch < 0 || state.position < 0 || state.position >= samples()) {
    throw UserError(fmt::format("cannot resume at sample {} of epoch {}: the data set has {} samples", state.position,
                                state.epoch, samples()));
  }
  return state.epoch * samples() + state.position;
}

}  // namespace headway::data
