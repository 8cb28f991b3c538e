#include "base/environment.h"

#include <malloc.h>
#include <pwd.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace headway {

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::filesystem::path user_data_directory() {
  if (const auto home = environment_variable("HEADWAY_HOME")) return *home;
  if (const auto data = environment_variable("XDG_DATA_HOME")) return std::filesystem::path(*data) / "headway";
  const passwd* user = getpwuid(getuid());
  const std::filesystem::path home = environment_variable("HOME").value_or(user != nullptr ? user->pw_dir : "/");
  return home / ".local" / "share" / "headway";
}

std::vector<int> allowed_cpus() {
  static const std::vector<int> allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return std::vector{0};
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    return cpus;
  }();
  return allowed;
}

Bytes physical_memory() {
  return Bytes(static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
}

Bytes peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return Bytes(kilobytes * 1024);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Bytes(static_cast<std::int64_t>(usage.ru_maxrss) * 1024);
}

void forget_peak_resident() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

}  // namespace headway
