#include "app/cli/probing.h"

#include <fmt/core.h>

#include "app/cli/workspace.h"
#include "backend/cpu/cpu_device.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/probe.h"

namespace headway::app {

cluster::Cluster probe_to(const std::filesystem::path& path, int threads) {
  const auto device = backend::open_cpu_device(threads);
  const auto progress = make_progress();
  cluster::Cluster cluster = bench::probe_machine(*device, progress.get(), {});
  write_file_atomic(path, to_yaml(cluster));
  return cluster;
}

std::string probe_text(const cluster::Cluster& cluster) {
  std::string out;
  for (const cluster::DeviceKind& device : cluster.devices) {
    out +=
        fmt::format("{}  {}, {} thread{}\n", device.name, device.model, device.threads, device.threads == 1 ? "" : "s");
    for (const auto& [dtype, rate] : device.peak) {
      out += fmt::format("  peak {:<8}{:>10}FLOP/s\n", name_of(dtype), format_si(rate.value));
    }
    for (const cluster::BandwidthPoint& point : device.bandwidth) {
      out += fmt::format("  copy {:<10}{:>8.1f} GB/s\n", format_bytes(point.working_set), point.rate.value * 1e-9);
    }
    out += fmt::format("  launch       {:>10}\n", format_seconds(device.launch_overhead));
    if (device.relative_error > 0) out += fmt::format("  error        {:>8.1f} %\n", device.relative_error * 100);
  }
  return out;
}

}  // namespace headway::app
