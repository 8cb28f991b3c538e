#include "record/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "base/environment.h"

namespace headway::record {
namespace {

namespace fs = std::filesystem;

// The text of a small system file without its last line end; empty when there is none.
std::string read_text(const fs::path& path) {
  std::ifstream stream(path);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// "48K", "24683584 kB", "12": a number and perhaps a binary unit.
std::optional<std::int64_t> read_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const char letter = unit.empty() ? ' ' : unit.front();
  const int shift = letter == 'K' || letter == 'k' ? 10 : letter == 'M' ? 20 : letter == 'G' ? 30 : 0;
  if (value < 0 || value > (std::int64_t{1} << 62 >> shift)) return std::nullopt;
  return value << shift;
}

// The value of the first line "name : value" of /proc/cpuinfo or /proc/meminfo.
std::string field(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string_view key(line.data(), colon);
    key = key.substr(0, key.find_last_not_of(" \t") + 1);
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    if (key == name) return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::vector<std::string> speed_features(const std::string& flags) {
  static constexpr std::array<std::string_view, 16> kMatters = {
      "sse4_2",      "avx",      "f16c",     "fma",      "avx2", "avx512f", "avx512_vnni", "avx512_bf16",
      "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "neon", "asimd",   "sve",         "bf16"};
  std::istringstream words(flags);
  const std::set<std::string> present{std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
  std::vector<std::string> features;
  for (const std::string_view each : kMatters) {
    if (present.contains(std::string(each))) features.emplace_back(each);
  }
  return features;
}

void describe_cores(const fs::path& cpu_folder, Machine& machine) {
  const std::vector<int> cpus = allowed_cpus();
  std::set<std::pair<std::string, std::string>> cores;
  std::set<std::string> sockets;
  for (const int cpu : cpus) {
    const fs::path topology = cpu_folder / ("cpu" + std::to_string(cpu)) / "topology";
    const std::string socket = read_text(topology / "physical_package_id"), core = read_text(topology / "core_id");
    if (core.empty()) continue;
    cores.emplace(socket, core);
    sockets.insert(socket);
  }
  machine.cpus = static_cast<std::int64_t>(cpus.size());
  machine.cores = cores.empty() ? machine.cpus : static_cast<std::int64_t>(cores.size());
  if (!sockets.empty()) machine.sockets = static_cast<std::int64_t>(sockets.size());
}

void describe_caches(const fs::path& cache_folder, Machine& machine) {
  for (int index = 0; index < 8; ++index) {
    const fs::path cache = cache_folder / ("index" + std::to_string(index));
    const std::string level = read_text(cache / "level");
    if (level.empty() || read_text(cache / "type") == "Instruction") continue;
    const std::optional<std::int64_t> size = read_size(read_text(cache / "size"));
    if (level == "1") machine.l1d_bytes = size;
    if (level == "2") machine.l2_bytes = size;
    if (level == "3") machine.l3_bytes = size;
  }
}

}  // namespace

Machine describe_machine(const fs::path& root) {
  Machine machine;
  utsname system{};
  if (::uname(&system) == 0) {
    machine.architecture = system.machine;
    machine.kernel = std::string(system.sysname) + " " + system.release;
  }
  const std::string cpu_info = read_text(root / "proc/cpuinfo");
  machine.cpu = field(cpu_info, "model name");
  // Arm prints numbers instead of a name.
  if (machine.cpu.empty() && !field(cpu_info, "CPU part").empty()) {
    machine.cpu = "implementer " + field(cpu_info, "CPU implementer") + " part " + field(cpu_info, "CPU part");
  }
  if (machine.cpu.empty()) machine.cpu = "unknown";
  const std::string flags = field(cpu_info, "flags");
  machine.features = speed_features(flags.empty() ? field(cpu_info, "Features") : flags);
  describe_cores(root / "sys/devices/system/cpu", machine);
  const int first = allowed_cpus().empty() ? 0 : allowed_cpus().front();
  describe_caches(root / "sys/devices/system/cpu" / ("cpu" + std::to_string(first)) / "cache", machine);
  machine.memory_bytes = read_size(field(read_text(root / "proc/meminfo"), "MemTotal"));
  return machine;
}

}  // namespace headway::record
