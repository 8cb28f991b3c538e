// Standardising a piece of a window.
#pragma once

#include <cstdint>

namespace headway::data {

// out = (in - mean) * scale, `count` elements of each; `out` does not overlap the others.
void standardise(const float* in, const float* mean, const float* scale, std::int64_t count, float* out);

}  // namespace headway::data
