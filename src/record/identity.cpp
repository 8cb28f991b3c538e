#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <random>

#include "record/result.h"

namespace headway::record {

std::string make_id() {
  using std::chrono::microseconds;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<microseconds>(since).count();
  std::random_device random;
  const std::time_t seconds = micros / 1'000'000;
  return fmt::format("{:%Y%m%dT%H%M%S}{:06}-{:08x}", fmt::gmtime(seconds), micros % 1'000'000, random());
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace headway::record
