#include "app/cli/to_target.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "app/cli/training.h"
#include "app/cli/workspace.h"
#include "backend/cpu/cpu_device.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/convergence.h"

namespace headway::app {
namespace {

constexpr double kMissed = std::numeric_limits<double>::quiet_NaN();

// One training; NaN where the target was not reached.
void run_seed(const std::string& name, const ToTarget& options, std::int64_t seed, std::int64_t batch,
              record::Result& summary) {
  TrainOptions training;
  training.run = name;
  training.overrides = options.overrides;
  training.overrides.push_back(fmt::format("train.seed={}", seed));
  training.without_passes = options.without_passes;
  training.threads = options.threads;
  training.quiet = true;
  const record::Result result = run_training(training);
  const record::Metrics& metrics = result.metrics;
  const bool reached = metrics.time_to_target_s.has_value();
  summary.samples["seed"].push_back(static_cast<double>(seed));
  summary.samples["target_seconds"].push_back(reached ? *metrics.time_to_target_s : kMissed);
  summary.samples["target_epochs"].push_back(reached ? metrics.epochs.value_or(kMissed) : kMissed);
  summary.samples["target_samples"].push_back(reached ? static_cast<double>(metrics.steps.value_or(0) * batch)
                                                      : kMissed);
}

std::string figure(double value, const char* format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

double spread(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

// MLPerf: more than one run that missed is no result.
void judge(record::Result& summary, const ToTarget& options) {
  const std::vector<double>& epochs = summary.samples.at("target_epochs");
  const auto missed = std::count_if(epochs.begin(), epochs.end(), [](double value) { return std::isnan(value); });
  if (missed > 0) {
    summary.notes.push_back(fmt::format("{} of {} seeds did not reach the target", missed, epochs.size()));
    return;
  }
  summary.metrics.time_to_target_s = bench::olympic_mean(summary.samples.at("target_seconds"));
  summary.metrics.epochs = bench::olympic_mean(epochs);
  if (options.reference.empty()) return;
  const double limit = bench::convergence_limit(options.reference, static_cast<std::int64_t>(epochs.size()));
  const double mean = bench::olympic_mean(epochs);
  summary.notes.push_back(
      fmt::format("convergence test: {:.4g} epochs against a limit of {:.4g} (reference mean {:.4g}, "
                  "p = 0.05): {}",
                  mean, limit, bench::olympic_mean(options.reference),
                  mean >= limit ? "passed" : "FAILED, too few epochs to be the same training"));
}

}  // namespace

record::Result bench_to_target(const std::string& name, const ToTarget& options) {
  const record::Run run = find_run(name, options.overrides);
  if (!run.train.target) {
    throw record::error_at(run, "train.target",
                           "is missing; --to-target needs one, such as {metric: valid_loss, below: 2.0}");
  }
  if (!options.reference.empty() && (options.reference.size() < 3 || options.seeds < 3)) {
    throw UserError("--reference-epochs: the convergence test needs three reference runs and three seeds at least");
  }
  record::Result summary =
      new_result("to_target", workload_name(name), run, *backend::open_cpu_device(options.threads));
  for (std::int64_t seed = run.train.seed; seed < run.train.seed + options.seeds; ++seed) {
    run_seed(name, options, seed, run.data.batch, summary);
    std::fputs(fmt::format("seed {}: {}\n", seed,
                           std::isnan(summary.samples["target_seconds"].back())
                               ? "target not reached"
                               : format_seconds(Seconds(summary.samples["target_seconds"].back())))
                   .c_str(),
               stderr);
  }
  judge(summary, options);
  store_result(summary);
  return summary;
}

std::string to_target_text(const record::Result& summary) {
  const auto& samples = summary.samples;
  const std::vector<double>&seconds = samples.at("target_seconds"), &epochs = samples.at("target_epochs"),
        &read = samples.at("target_samples");
  std::string out = fmt::format("{}  time to target  {} thread{} of {}\n  {:<8}{:>12}{:>10}{:>14}\n", summary.workload,
                                summary.threads, summary.threads == 1 ? "" : "s", summary.device, "seed", "seconds",
                                "epochs", "samples");
  for (std::size_t index = 0; index < seconds.size(); ++index) {
    out += fmt::format("  {:<8}{:>12}{:>10}{:>14}\n", samples.at("seed")[index], figure(seconds[index], "{:.2f}"),
                       figure(epochs[index], "{:.3f}"), figure(read[index], "{:.0f}"));
  }
  if (summary.metrics.time_to_target_s) {
    out += fmt::format("  {:<8}{:>12.2f}{:>10.3f}{:>14.0f}   without best and worst\n", "mean",
                       bench::olympic_mean(seconds), bench::olympic_mean(epochs), bench::olympic_mean(read));
    out += fmt::format("  {:<8}{:>12.2f}{:>10.3f}{:>14.0f}   largest less least\n", "spread", spread(seconds),
                       spread(epochs), spread(read));
  }
  return out;
}

}  // namespace headway::app
