#include <fmt/chrono.h>
#include <fmt/core.h>

#include <chrono>
#include <ctime>
#include <random>

#include "record/result.h"

namespace headway::record {

std::string make_id(std::int64_t moment, std::uint32_t random) {
  constexpr std::int64_t kSecond = 1'000'000;
  return fmt::format("{:%Y%m%dT%H%M%S}{:06}-{:08x}", fmt::gmtime(static_cast<std::time_t>(moment / kSecond)),
                     moment % kSecond, random);
}

std::string make_id() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  std::random_device random;
  return make_id(std::chrono::duration_cast<std::chrono::microseconds>(since).count(), random());
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace headway::record
