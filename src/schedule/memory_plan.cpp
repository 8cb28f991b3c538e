#include "schedule/memory_plan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace headway::schedule {
namespace {

// Offset allocation is bin packing in two dimensions and NP-hard; greedy placement in a good order comes within a few
// percent (Pisarchyk, Lee 2020: "Efficient memory management for deep neural net inference", greedy by size). Several
// orders are tried, the smallest arena is kept, and the first that reaches the lower bound ends the search.
using Order = std::vector<std::size_t>;

struct Placement {
  std::vector<std::int64_t> offsets;
  std::int64_t size = 0;
};

// Places the buffers in the given order, each at the lowest gap among those already placed that live at the same time.
Placement place(const std::vector<Lifetime>& lifetimes, const Order& order, std::int64_t give_up) {
  Placement result{std::vector<std::int64_t>(lifetimes.size(), 0), 0};
  std::vector<std::size_t> placed;  // ascending offsets
  for (const std::size_t index : order) {
    const Lifetime& buffer = lifetimes[index];
    const std::int64_t size = aligned(buffer.size).value;
    if (size == 0) continue;
    std::int64_t best = -1, best_gap = std::numeric_limits<std::int64_t>::max(), end = 0;
    for (const std::size_t other : placed) {
      const Lifetime& neighbour = lifetimes[other];
      if (neighbour.last < buffer.first || buffer.last < neighbour.first) continue;
      const std::int64_t gap = result.offsets[other] - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, result.offsets[other] + aligned(neighbour.size).value);
    }
    const std::int64_t offset = best >= 0 ? best : end;
    result.offsets[index] = offset;
    result.size = std::max(result.size, offset + size);
    if (result.size >= give_up) return result;
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset, [&](std::int64_t value, std::size_t other) {
      return value < result.offsets[other];
    });
    placed.insert(at, index);
  }
  return result;
}

std::int64_t peak_of(const std::vector<Lifetime>& lifetimes) {
  std::int64_t end = 0;
  for (const Lifetime& buffer : lifetimes) end = std::max(end, buffer.last + 1);
  std::vector<std::int64_t> change(static_cast<std::size_t>(end) + 1, 0);
  for (const Lifetime& buffer : lifetimes) {
    change[static_cast<std::size_t>(buffer.first)] += aligned(buffer.size).value;
    change[static_cast<std::size_t>(buffer.last) + 1] -= aligned(buffer.size).value;
  }
  std::int64_t live = 0, peak = 0;
  for (const std::int64_t step : change) {
    live += step;
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  MemoryPlan plan;
  plan.live_peak = Bytes(peak_of(lifetimes));
  const auto length = [&](std::size_t index) { return lifetimes[index].last - lifetimes[index].first + 1; };
  const auto size = [&](std::size_t index) { return lifetimes[index].size.value; };
  const std::vector<std::function<bool(std::size_t, std::size_t)>> orders = {
      [&](std::size_t a, std::size_t b) { return size(a) > size(b); },
      [&](std::size_t a, std::size_t b) { return size(a) * length(a) > size(b) * length(b); },
      [&](std::size_t a, std::size_t b) { return length(a) > length(b); },
      [&](std::size_t a, std::size_t b) { return lifetimes[a].first < lifetimes[b].first; },
      [&](std::size_t a, std::size_t b) { return lifetimes[a].last > lifetimes[b].last; },
  };
  Placement best;
  best.size = std::numeric_limits<std::int64_t>::max();
  for (const auto& before : orders) {
    Order order(lifetimes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), before);
    Placement candidate = place(lifetimes, order, best.size);
    if (candidate.size < best.size) best = std::move(candidate);
    if (best.size == plan.live_peak.value) break;
  }
  plan.size = Bytes(best.size);
  for (const std::int64_t offset : best.offsets) plan.offsets.emplace_back(offset);
  return plan;
}

}  // namespace headway::schedule
