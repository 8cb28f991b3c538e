#include "app/report/summary.h"

#include <fmt/core.h>

#include "app/report/breakdown.h"
#include "base/environment.h"
#include "base/statistics.h"
#include "base/text.h"
#include "sim/simulate.h"

namespace headway::app {
namespace {

// A step whose slow tenth is this much slower than its fast tenth was measured on a busy machine.
constexpr double kNoisy = 1.15;
// A probe whose medians are this uncertain, typically, predicts nothing. On a shared machine at rest 0.25 is usual.
constexpr double kBusyProbe = 0.3;

record::StepTime step_time(const std::vector<double>& seconds, const std::string& stop) {
  const auto ms = [&](double q) { return quantile(seconds, q) * 1e3; };
  return {ms(0.1), ms(0.5), ms(0.9), ms(0.99), static_cast<std::int64_t>(seconds.size()), stop};
}

double step_bytes(const schedule::Schedule& schedule) {
  double bytes = 0;
  for (const schedule::Item& item : schedule.programs.at(0).items) {
    for (const schedule::Task& task : schedule.segments.at(static_cast<std::size_t>(item.segment)).tasks) {
      const graph::OpCost cost = schedule.graph.cost(schedule.graph.node(task.node));
      bytes += static_cast<double>((cost.read + cost.written).value);
    }
  }
  return bytes;
}

// With what is recomputed (the numerator of HFU) or without (of MFU).
double step_flops(const schedule::Schedule& schedule, bool recomputed) {
  double flops = 0;
  for (const schedule::Item& item : schedule.programs.at(0).items) {
    for (const schedule::Task& task : schedule.segments.at(static_cast<std::size_t>(item.segment)).tasks) {
      const graph::Node& node = schedule.graph.node(task.node);
      if (recomputed || !node.recomputed) flops += schedule.graph.cost(node).flops.value;
    }
  }
  return flops;
}

}  // namespace

std::optional<trace::Timeline> predict(const schedule::Schedule& schedule, const cluster::Cluster* cluster) {
  if (cluster == nullptr) return std::nullopt;
  return sim::simulate(schedule, sim::CostModel(*cluster, "cpu"));
}

void fill_figures(record::Result& result, const StepFigures& figures, const schedule::Schedule& schedule,
                  const models::Model& model, std::int64_t batch, const cluster::Cluster* cluster) {
  record::Metrics& metrics = result.metrics;
  const auto predicted = predict(schedule, cluster);
  std::optional<sim::CostModel> costs;
  if (cluster != nullptr) costs.emplace(*cluster, "cpu");
  metrics.flops_per_step = step_flops(schedule, false);
  metrics.item = model.item;
  metrics.planned_bytes = schedule.arena().value;
  if (predicted) metrics.predicted_step_ms = predicted->length().value * 1e3;

  double seconds = predicted ? predicted->length().value : 0;
  if (!figures.seconds.empty()) {
    metrics.step_ms = step_time(figures.seconds, figures.stop);
    metrics.arena_bytes = schedule.arena().value;
    metrics.peak_rss_bytes = peak_resident_bytes().value;
    for (const double sample : figures.seconds) result.samples["step_ms"].push_back(sample * 1e3);
    seconds = metrics.step_ms->p50 / 1e3;
    if (const double ratio = metrics.step_ms->p90 / metrics.step_ms->p10; ratio > kNoisy) {
      result.notes.push_back(fmt::format("noisy machine: p90/p10 is {:.2f}", ratio));
    }
  }
  if (seconds > 0) metrics.items_per_s = static_cast<double>(batch * model.items_per_sample) / seconds;
  if (costs && seconds > 0) {
    metrics.peak_flops = costs->peak(dtype_from_name(result.precision).value_or(DType::kF32)).value;
    metrics.mfu = *metrics.flops_per_step / seconds / *metrics.peak_flops;
    if (const double all = step_flops(schedule, true); all > *metrics.flops_per_step) {
      metrics.hfu = all / seconds / *metrics.peak_flops;
    }
    metrics.memory_bandwidth_share = step_bytes(schedule) / seconds / costs->bandwidth(schedule.arena()).value;
    if (cluster->devices.at(0).threads != result.threads) {
      result.notes.push_back(fmt::format("the cluster file was measured with {} threads, this ran with {}",
                                         cluster->devices.at(0).threads, result.threads));
    }
    const cluster::DeviceKind& measured = cluster->devices.at(0);
    if (measured.relative_error > kBusyProbe) {
      result.notes.push_back(
          fmt::format("the cluster file was measured on a busy machine, its medians are off by {:.0f} "
                      "%; `headway probe` again when nothing else runs",
                      measured.relative_error * 100));
    }
    if (schedule.arena() > measured.memory) {
      result.notes.push_back(fmt::format("does not fit: {} are planned, the device has {}",
                                         format_bytes(schedule.arena()), format_bytes(measured.memory)));
    }
  } else if (cluster == nullptr) {
    result.notes.emplace_back("no prediction and no MFU: this machine was not measured yet; `headway probe` does it");
  }
  // A measured result without spans has no breakdown: predicted figures never stand in the measured column.
  if (figures.timeline != nullptr || (predicted && figures.seconds.empty())) {
    result.breakdown = make_breakdown(schedule, figures.timeline, figures.traced_steps,
                                      predicted ? &*predicted : nullptr, costs ? &*costs : nullptr);
  }
}

}  // namespace headway::app
