#include "bench/meters.h"

#include <fmt/core.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace headway::bench {
namespace {

std::optional<double> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  double value = 0;
  if (stream >> value) return value;
  return std::nullopt;
}

}  // namespace

Meters::Meters(const std::filesystem::path& powercap) {
  instructions_ = open_counter(PERF_COUNT_HW_INSTRUCTIONS);
  cycles_ = open_counter(PERF_COUNT_HW_CPU_CYCLES);
  cache_misses_ = open_counter(PERF_COUNT_HW_CACHE_MISSES);
  find_packages(powercap);
}

Meters::~Meters() {
  for (const Counter* counter : {&instructions_, &cycles_, &cache_misses_}) {
    if (counter->descriptor >= 0) ::close(counter->descriptor);
  }
}

// An event of the calling thread and all that it starts; the kernel adds their counts up when it is read.
Meters::Counter Meters::open_counter(std::uint64_t event) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof(attributes);
  attributes.config = event;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  Counter counter;
  counter.descriptor = static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (counter.descriptor < 0 && no_counters_.empty()) no_counters_ = std::strerror(errno);
  return counter;
}

// Scaled up where more events were asked for than the processor counts at once.
std::optional<double> Meters::value_of(const Counter& counter) {
  struct {
    std::uint64_t value, enabled, running;
  } read{};
  if (counter.descriptor < 0 || ::read(counter.descriptor, &read, sizeof(read)) != sizeof(read)) return std::nullopt;
  if (read.running == 0) return std::nullopt;
  return static_cast<double>(read.value) * static_cast<double>(read.enabled) / static_cast<double>(read.running);
}

// Package domains only: intel-rapl:0, intel-rapl:1, ...; intel-rapl:0:0 is a part of its package.
void Meters::find_packages(const std::filesystem::path& powercap) {
  std::error_code error;
  bool seen = false;
  for (const auto& entry : std::filesystem::directory_iterator(powercap, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("intel-rapl:") || name.find(':', 11) != std::string::npos) continue;
    seen = true;
    const std::filesystem::path energy = entry.path() / "energy_uj";
    const auto now = number_in(energy), range = number_in(entry.path() / "max_energy_range_uj");
    if (now && range && *range > 0) packages_.push_back({energy, *range, 0});
  }
  if (packages_.empty()) no_energy_ = seen ? "only root may read RAPL" : "the kernel shows no RAPL";
}

void Meters::start() {
  for (Counter* counter : {&instructions_, &cycles_, &cache_misses_}) counter->begin = value_of(*counter).value_or(0);
  for (Package& package : packages_) package.begin = number_in(package.energy).value_or(0);
}

MeterReading Meters::read() const {
  const auto since = [](const Counter& counter) -> std::optional<double> {
    const auto value = value_of(counter);
    if (!value) return std::nullopt;
    return *value - counter.begin;
  };
  MeterReading reading{since(instructions_), since(cycles_), since(cache_misses_), std::nullopt};
  for (const Package& package : packages_) {
    const auto now = number_in(package.energy);
    if (!now) continue;
    const double spent = *now >= package.begin ? *now - package.begin : *now - package.begin + package.range;
    reading.joules = reading.joules.value_or(0) + spent * 1e-6;
  }
  return reading;
}

std::string Meters::missing() const {
  std::string text;
  if (!no_counters_.empty()) text = fmt::format("hardware counters (perf_event_open: {})", no_counters_);
  if (!no_energy_.empty()) text += fmt::format("{}energy ({})", text.empty() ? "" : ", ", no_energy_);
  return text;
}

}  // namespace headway::bench
