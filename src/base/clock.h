// The one clock of measurements.
#pragma once

#include <chrono>

#include "base/units.h"

namespace headway {

// Monotonic time since an arbitrary origin, about 25 ns a call.
inline Seconds now() {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace headway
