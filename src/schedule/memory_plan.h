// Offsets for buffers with known lifetimes in one arena.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace headway::schedule {

// Every buffer starts on a cache line, and a vector load never straddles two of them.
inline constexpr std::int64_t kAlignment = 64;

constexpr Bytes aligned(Bytes size) {
  return Bytes((size.value + kAlignment - 1) / kAlignment * kAlignment);
}

// A buffer is alive at the positions first..last of the task order, both included.
struct Lifetime {
  Bytes size;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct MemoryPlan {
  std::vector<Bytes> offsets;
  Bytes size;
  Bytes live_peak;  // largest sum of aligned sizes alive at one position: no plan can be smaller
};

// Places the lifetimes so that no two that are alive together overlap.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

}  // namespace headway::schedule
