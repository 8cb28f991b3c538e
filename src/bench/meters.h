// What the hardware counts while steps run: instructions, cycles, cache misses (perf_event_open), energy (RAPL).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headway::bench {

// Totals between start() and read(); a value that this machine or this user may not read is absent.
struct MeterReading {
  std::optional<double> instructions;
  std::optional<double> cycles;
  std::optional<double> cache_misses;  // of the last level
  std::optional<double> joules;        // of all processor packages, other processes' share included
};

// Counts this process's threads that start after it was made: make it before the device and its thread pool.
class Meters {
 public:
  explicit Meters(const std::filesystem::path& powercap = "/sys/class/powercap");
  ~Meters();
  Meters(const Meters&) = delete;
  Meters& operator=(const Meters&) = delete;

  void start();
  MeterReading read() const;

  // What cannot be read here and why, in one line; empty when everything can.
  std::string missing() const;

 private:
  struct Counter {
    int descriptor = -1;
    double begin = 0;
  };
  struct Package {
    std::filesystem::path energy;  // microjoules, wraps at `range`
    double range = 0;
    double begin = 0;
  };

  Counter open_counter(std::uint64_t event);
  static std::optional<double> value_of(const Counter& counter);
  void find_packages(const std::filesystem::path& powercap);

  Counter instructions_, cycles_, cache_misses_;
  std::vector<Package> packages_;
  std::string no_counters_, no_energy_;
};

}  // namespace headway::bench
