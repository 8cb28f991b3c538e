#include <fmt/core.h>

#include "cluster/cluster.h"

namespace headway::cluster {
namespace {

// A double-quoted YAML scalar.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      result += '\\';
      result += character;
    } else if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += character;
    }
  }
  return result + "\"";
}

// One line a point: the sizes, then the measured value.
std::string row(const OpPoint& point) {
  return fmt::format("[{}, {}]", point.bytes.value, point.time.value);
}
std::string row(const BandwidthPoint& point) {
  return fmt::format("[{}, {}]", point.working_set.value, point.rate.value);
}
std::string row(const GemmPoint& point) {
  return fmt::format("[{}, {}, {}, {}]", point.m, point.n, point.k, point.rate.value);
}
std::string row(const AttentionPoint& point) {
  return fmt::format("[{}, {}, {}, {}]", point.groups, point.sequence, point.head_size, point.rate.value);
}
std::string row(const RecurrentPoint& point) {
  return fmt::format("[{}, {}, {}, {}]", point.batch, point.features, point.hidden, point.rate.value);
}
std::string row(const ConvPoint& point) {
  return fmt::format("[{}, {}, {}, {}, {}, {}, {}]", point.batch, point.height, point.width, point.in, point.out,
                     point.kernel, point.rate.value);
}

template <class Point>
std::string rows(const std::vector<Point>& points, int indent) {
  std::string text;
  for (const Point& point : points) text += fmt::format("{:{}}- {}\n", "", indent, row(point));
  return text;
}

template <class Point>
std::string curves(const char* name, const char* columns, const std::map<std::string, std::vector<Point>>& all) {
  if (all.empty()) return "";
  std::string text = fmt::format("    {}:  # {}\n", name, columns);
  for (const auto& [key, points] : all) text += fmt::format("      {}:\n{}", key, rows(points, 8));
  return text;
}

std::string device_text(const DeviceKind& device) {
  std::string text = fmt::format("  - name: {}\n    model: {}\n    threads: {}\n    memory_bytes: {}\n",
                                 quoted(device.name), quoted(device.model), device.threads, device.memory.value);
  text += fmt::format("    launch_overhead_s: {}\n", device.launch_overhead.value);
  if (device.relative_error > 0) text += fmt::format("    relative_error: {}\n", device.relative_error);
  text += "    peak_flops:\n";
  for (const auto& [dtype, rate] : device.peak) text += fmt::format("      {}: {}\n", name_of(dtype), rate.value);
  text += "    bandwidth:  # working set in bytes, bytes read and written per second\n" + rows(device.bandwidth, 6);
  text += curves("gemm", "m, n, k, flop/s", device.gemm);
  text += curves("conv", "batch, height, width, in, out, kernel, flop/s", device.conv);
  text += curves("attention", "batch x heads, sequence, head size, flop/s", device.attention);
  text += curves("recurrent", "batch, features, hidden, flop/s", device.recurrent);
  text += curves("ops", "bytes of all operands, seconds", device.ops);
  return text;
}

}  // namespace

std::string to_yaml(const Cluster& cluster) {
  std::string text = fmt::format("schema: headway.cluster/1\nname: {}\nmeasured: {}\ndevices:\n", quoted(cluster.name),
                                 quoted(cluster.measured));
  for (const DeviceKind& device : cluster.devices) text += device_text(device);
  return text + "complete: true\n";
}

}  // namespace headway::cluster
