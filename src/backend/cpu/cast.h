// Conversion between f32 and bf16, rounded to the nearest, ties to even; NaN stays NaN.
#pragma once

#include <cstdint>

namespace headway::backend {

void bf16_of_f32(const float* from, std::uint16_t* to, std::int64_t count);
void f32_of_bf16(const std::uint16_t* from, float* to, std::int64_t count);

}  // namespace headway::backend
