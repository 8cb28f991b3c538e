#include "data/sampler.h"

#include <fmt/core.h>

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
  const SamplerState at = state(position);
  return shuffle_ ? permutation_(seed_, static_cast<std::uint64_t>(at.epoch), at.position) : at.position;
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
