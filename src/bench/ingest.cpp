#include "bench/ingest.h"

#include <fmt/core.h>
#include <time.h>

#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "base/statistics.h"
#include "data/loader.h"

namespace headway::bench {
namespace {

constexpr Seconds kTurn{0.05};  // long against the clock, short against the noise of a machine

// Time that this thread has spent on a processor: for ratios on a machine that others use too.
Seconds thread_cpu_now() {
  std::timespec spent = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return Seconds(static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9);
}

// What each step of a loop waits for its batch, made ahead of it by a thread of its own.
void measure_waits(const data::Dataset& dataset, const data::Sampler& sampler, const IngestOptions& options,
                   IngestMeasurement& result) {
  data::Loader loader(dataset, sampler, {.batch = options.batch, .cpus = options.loader_cpus});
  loader.next();  // the first batch of a run has nothing to hide behind
  const Seconds before = loader.wait_seconds(), begin = now();
  while (now() - begin < options.seconds * 0.3) {
    const Seconds start = now(), waited = loader.wait_seconds();
    while (now() - start < options.step) {
    }
    loader.next();
    result.waits_ms.push_back((loader.wait_seconds() - waited).value * 1e3);
  }
  result.wait_share = (loader.wait_seconds() - before).value / (now() - begin).value;
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
  std::vector<std::int64_t> order(static_cast<std::size_t>(options.batch));
  const auto copy_batch = [&] {
    sampler.indices(position, order);
    position += options.batch;
    std::byte* to = target;
    for (const std::int64_t sample : order) {
      std::memcpy(to, raw(dataset, sample), bytes);
      to += bytes;
    }
  };
  // Windows a second of `make`, over one turn: of the clock, and of this thread's time on its processor.
  struct Rate {
    double wall = 0, cpu = 0;
  };
  const auto turn = [&](const auto& make) {
    const Seconds begin = now(), cpu_begin = thread_cpu_now();
    double windows = 0;
    do {
      make();
      windows += static_cast<double>(options.batch);
    } while (now() - begin < kTurn);
    return Rate{windows / (now() - begin).value, windows / (thread_cpu_now() - cpu_begin).value};
  };
  std::vector<double> copies, shares;
  const Seconds begin = now();
  while (now() - begin < options.seconds * 0.7 || shares.size() < 5) {
    const Rate ours = turn([&] { loader.next(); }), theirs = turn(copy_batch);
    result.turns.push_back(ours.wall);
    copies.push_back(theirs.wall);
    shares.push_back(ours.cpu / theirs.cpu);
    if (options.progress != nullptr) {
      options.progress->update("turns", static_cast<std::int64_t>(shares.size()), 0,
                               fmt::format("{:.0f}/s", ours.wall));
    }
  }
  result.windows_per_s = median(result.turns);
  result.copies_per_s = median(copies);
  result.copy_share = median(shares);
  measure_waits(dataset, sampler, options, result);
  return result;
}

}  // namespace headway::bench
