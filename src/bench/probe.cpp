#include "bench/probe.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/statistics.h"
#include "base/text.h"
#include "bench/probe_plan.h"
#include "record/machine.h"

namespace headway::bench {
namespace {

// The launches of a sample last this long.
constexpr Seconds kSample(400e-6);
constexpr std::size_t kLeastSweeps = 3;
constexpr std::size_t kLeastSamples = 7;  // before a median may count as known

// Four digits are more than a machine repeats.
double rounded(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3);
  return std::round(value / unit) * unit;
}

bool known(const ProbePoint& point, double relative_error) {
  return point.samples.size() >= kLeastSamples && median_relative_error(point.samples) < relative_error;
}

std::vector<std::size_t> random_order(std::size_t count, std::size_t sweep) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = count; left > 1; --left) {
    const std::uint32_t drawn = random_bits(3, 0, static_cast<std::uint32_t>(sweep), left);
    std::swap(order[left - 1], order[drawn % left]);
  }
  return order;
}

// Measures all points in sweeps; returns how many there were.
std::size_t sweep_points(std::vector<ProbePoint>& points, const ProbePoint& between, ProbeMemory& memory,
                         backend::Stream& stream, Progress* progress, const ProbeOptions& options) {
  const Seconds start = now();
  // The first sweep makes pages, code and branch predictors warm.
  for (ProbePoint& point : points) {
    measure(point, between, memory, stream, Seconds(0));
    point.samples.clear();
  }
  std::size_t sweep = 0;
  for (bool wanted = true; wanted && (sweep < kLeastSweeps || now() - start < options.budget); ++sweep) {
    wanted = false;
    for (const std::size_t index : random_order(points.size(), sweep)) {
      ProbePoint& point = points[index];
      if (known(point, options.relative_error)) continue;
      if (sweep >= kLeastSweeps && now() - start >= options.budget) break;
      wanted = true;
      measure(point, between, memory, stream, kSample);
      if (progress != nullptr) {
        const double share = std::min(1.0, (now() - start).value / std::max(options.budget.value, 1e-9));
        progress->update("probe", std::llround(share * 100), 100, point.name);
      }
    }
  }
  return sweep;
}

// Points at equal sizes (tiny probes have some) are one point.
template <class Point, class Same>
void keep_first(std::vector<Point>& points, Same same) {
  std::vector<Point> kept;
  for (const Point& point : points) {
    if (std::none_of(kept.begin(), kept.end(), [&](const Point& before) { return same(before, point); })) {
      kept.push_back(point);
    }
  }
  points = std::move(kept);
}

template <class Point>
void tidy_rates(std::vector<Point>& points) {
  keep_first(points, [](Point a, const Point& b) {
    a.rate = b.rate;
    return a == b;
  });
  for (Point& point : points) point.rate.value = rounded(point.rate.value);
}

void tidy(cluster::DeviceKind& device) {
  for (const auto& [key, curve] : device.gemm) {
    if (!key.starts_with("f32.")) continue;
    FlopsPerSecond& peak = device.peak[DType::kF32];
    for (const cluster::GemmPoint& point : curve) peak = std::max(peak, point.rate);
  }
  for (auto& [dtype, rate] : device.peak) rate = FlopsPerSecond(rounded(rate.value));
  tidy_rates(device.bandwidth);
  for (auto& [key, curve] : device.gemm) tidy_rates(curve);
  for (auto& [key, curve] : device.conv) tidy_rates(curve);
  for (auto& [key, curve] : device.attention) tidy_rates(curve);
  for (auto& [key, curve] : device.recurrent) tidy_rates(curve);
  for (auto& [key, curve] : device.ops) {
    keep_first(curve, [](const auto& a, const auto& b) { return a.bytes == b.bytes; });
    std::sort(curve.begin(), curve.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  }
}

}  // namespace

cluster::Cluster probe_machine(backend::Device& device, Progress* progress, const ProbeOptions& options) {
  const Seconds start = now();
  if (progress != nullptr) progress->update("probe", 0, 100, "making kernels");
  std::vector<ProbePoint> points = plan_probe(device, options.scale);
  const ProbePoint between = plan_between(device);
  ProbeMemory memory(device, options.window, points);
  const std::unique_ptr<backend::Stream> stream = device.make_stream();
  const std::size_t sweeps = sweep_points(points, between, memory, *stream, progress, options);

  const record::Machine machine = record::describe_machine();
  cluster::DeviceKind kind;
  kind.name = std::string(device.kind());
  kind.model = machine.cpu;
  kind.threads = device.threads();
  kind.memory = Bytes(machine.memory_bytes.value_or(std::int64_t{1} << 30));
  std::vector<double> errors;
  for (std::size_t index = 0; index < points.size(); ++index) {
    const ProbePoint& point = points[index];
    errors.push_back(median_relative_error(point.samples));
    if (!point.store) continue;
    double time = median(point.samples);
    if (point.less > 0) {
      const double base = median(points[index - static_cast<std::size_t>(point.less)].samples);
      time = std::max(time - base, 0.01 * time);  // noise must not make an epilogue free
    }
    point.store(kind, Seconds(rounded(time)));
  }
  tidy(kind);
  if (const double error = median(errors); error > 0) kind.relative_error = rounded(error);

  const auto time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  cluster::Cluster cluster;
  cluster.name = "this machine";
  cluster.measured = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ} headway probe: {} threads, {} points, {} sweeps in {}, operands rotate through {} each "
      "for "
      "reading and writing, error of the medians {:.1f} % (median), {:.1f} % (p90)",
      fmt::gmtime(time), kind.threads, points.size(), sweeps, format_seconds(now() - start),
      format_bytes(options.window), 100 * median(errors), 100 * quantile(errors, 0.9));
  cluster.devices.push_back(std::move(kind));
  return cluster;
}

}  // namespace headway::bench
