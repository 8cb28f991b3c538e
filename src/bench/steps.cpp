#include "bench/steps.h"

#include <fmt/core.h>

#include <cmath>

#include "base/clock.h"
#include "base/statistics.h"

namespace headway::bench {
namespace {

// Start-up is over when the first quarter of what is left is within this of the rest.
constexpr double kWarmupTolerance = 0.03;
// A slow workload takes so many steps whatever the time: the median of less is no figure.
constexpr std::size_t kFewest = 3;
// The error has settled when twice as many samples did not lower it by a tenth: noise that more steps will not remove.
constexpr double kSettled = 0.9;

// Why sampling may end now; "" to go on.
std::string reason_to_stop(const std::vector<double>& seconds, Seconds spent, const StepOptions& options) {
  if (spent >= options.most && seconds.size() >= kFewest) return "time";
  if (spent < options.least || static_cast<std::int64_t>(seconds.size()) < options.least_steps) return "";
  std::vector<double> kept = seconds;
  drop_warmup(kept);
  const double error = median_relative_error(kept);
  if (error <= options.relative_error) return "error";
  const std::span<const double> half = std::span<const double>(kept).first(kept.size() / 2);
  if (kept.size() >= 100 && error > kSettled * median_relative_error(half)) return "settled";
  return "";
}

MeterReading per_step(MeterReading reading, std::int64_t steps) {
  for (std::optional<double>* value :
       {&reading.instructions, &reading.cycles, &reading.cache_misses, &reading.joules}) {
    if (*value) **value /= static_cast<double>(steps);
  }
  return reading;
}

}  // namespace

std::int64_t drop_warmup(std::vector<double>& seconds) {
  const std::size_t drop = warmup_length(seconds, kWarmupTolerance);
  seconds.erase(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(drop));
  return static_cast<std::int64_t>(drop);
}

StepMeasurement measure_steps(runtime::TrainingSession& session, const data::Dataset& dataset, std::int64_t batch,
                              const StepOptions& options, Progress* progress) {
  const data::Sampler sampler(1, dataset.size(), true);
  data::Loader loader(dataset, sampler, {.batch = batch, .cpus = options.loader_cpus});
  StepMeasurement result;
  result.timeline.source = "measured";
  constexpr double kLearningRate = 1e-4;  // small: the time is measured, the loss must only stay finite
  std::int64_t step = 0;
  // The first step takes every page of the arena from the system, which can last longer than the step itself.
  result.loss = session.step(loader.next(), step++, kLearningRate).loss;
  const Seconds waited = loader.wait_seconds();
  if (options.meters != nullptr) options.meters->start();
  const Seconds begin = now();
  Seconds busy;
  while (result.stop.empty()) {
    const Seconds start = now();
    result.loss = session.step(loader.next(), step++, kLearningRate).loss;
    const Seconds taken = now() - start;
    busy += taken;
    result.seconds.push_back(taken.value);
    result.stop = reason_to_stop(result.seconds, now() - begin, options);
    if (progress != nullptr) {
      progress->update("steps", step, 0, fmt::format("{:.1f} ms", median(result.seconds) * 1e3));
    }
  }
  if (options.meters != nullptr) result.meters = per_step(options.meters->read(), step - 1);
  result.data_wait_share = (loader.wait_seconds() - waited).value / busy.value;
  result.dropped = drop_warmup(result.seconds);

  session.executor().record(&result.timeline);
  for (; result.traced_steps < options.traced_steps; ++result.traced_steps) {
    session.step(loader.next(), step++, kLearningRate);
  }
  session.executor().record(nullptr);
  return result;
}

}  // namespace headway::bench
