// The part of a sliding window that lies in the input.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/ops/window.h"

namespace headway::backend {

// Along one axis, window `position` starts at input `start`; its elements [begin, end) are in the input.
struct WindowClip {
  std::int64_t start, begin, end;
};
inline WindowClip clip_window(const graph::Pool2dAttributes& pool, std::size_t axis, std::int64_t size,
                              std::int64_t position) {
  const std::int64_t start = position * pool.stride[axis] - pool.padding[axis].before;
  return {start, std::max<std::int64_t>(0, -start), std::min(pool.kernel[axis], size - start)};
}

// The first window that reaches input `at` or a later one.
inline std::int64_t first_window(const graph::Pool2dAttributes& pool, std::size_t axis, std::int64_t at) {
  const std::int64_t padded = at + pool.padding[axis].before, kernel = pool.kernel[axis];
  return padded < kernel ? 0 : (padded - kernel) / pool.stride[axis] + 1;
}

}  // namespace headway::backend
