#include "bench/ingest.h"

#include <fmt/core.h>

#include <cstring>

#include "base/clock.h"
#include "base/statistics.h"
#include "data/loader.h"

namespace headway::bench {
namespace {

constexpr Seconds kTurn{0.05};  // long against the clock, short against the noise of a machine

// The share of its time that a loop of steps waits for batches made ahead of it.
double wait_share(const data::Dataset& dataset, const data::Sampler& sampler, const IngestOptions& options) {
  data::Loader loader(dataset, sampler, {.batch = options.batch, .depth = 2, .cpus = options.loader_cpus});
  loader.next();  // the first batch of a run has nothing to hide behind
  const Seconds before = loader.wait_seconds(), begin = now();
  while (now() - begin < options.seconds * 0.3) {
    const Seconds start = now();
    while (now() - start < options.step) {
    }
    loader.next();
  }
  return (loader.wait_seconds() - before).value / (now() - begin).value;
}

}  // namespace

IngestMeasurement measure_ingest(const data::Dataset& dataset,
                                 const std::byte* (*raw)(const data::Dataset&, std::int64_t),
                                 const IngestOptions& options) {
  IngestMeasurement result;
  result.window_bytes = bytes_of(dataset.fields()[0]);
  const data::Sampler sampler(1, dataset.size(), true);
  data::Loader loader(dataset, sampler, {.batch = options.batch, .depth = 0});
  const data::Batch& batch = loader.next();
  std::byte* target = batch.arrays[0].bytes.get();
  const auto bytes = static_cast<std::size_t>(result.window_bytes);
  std::int64_t position = 0;
  const auto copy_batch = [&] {
    for (std::int64_t sample = 0; sample < options.batch; ++sample, ++position) {
      std::memcpy(target + sample * result.window_bytes, raw(dataset, sampler.index(position)), bytes);
    }
  };
  // Windows a second of `make`, over one turn.
  const auto turn = [&](const auto& make) {
    const Seconds begin = now();
    std::int64_t batches = 0;
    Seconds taken;
    do {
      make();
      ++batches;
      taken = now() - begin;
    } while (taken < kTurn);
    return static_cast<double>(batches * options.batch) / taken.value;
  };
  std::vector<double> copies, shares;
  const Seconds begin = now();
  while (now() - begin < options.seconds * 0.7 || shares.size() < 5) {
    const double ours = turn([&] { loader.next(); }), theirs = turn(copy_batch);
    result.turns.push_back(ours);
    copies.push_back(theirs);
    shares.push_back(ours / theirs);
    if (options.progress != nullptr) {
      options.progress->update("turns", static_cast<std::int64_t>(shares.size()), 0, fmt::format("{:.0f}/s", ours));
    }
  }
  result.windows_per_s = median(result.turns);
  result.copies_per_s = median(copies);
  result.copy_share = median(shares);
  result.wait_share = wait_share(dataset, sampler, options);
  return result;
}

}  // namespace headway::bench
