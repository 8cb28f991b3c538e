#include "backend/cpu/cast.h"

#include <bit>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/cast.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Loops that the compiler turns into vectors of the target: whole numbers only, no branch.
void ToBf16(const float* HWY_RESTRICT from, std::uint16_t* HWY_RESTRICT to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16, quiet = (bits >> 16) | 0x40U;
    to[i] = static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded);
  }
}

void ToF32(const std::uint16_t* HWY_RESTRICT from, float* HWY_RESTRICT to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "graph/ops/cast.h"

namespace headway::backend {
namespace {
HWY_EXPORT(ToBf16);
HWY_EXPORT(ToF32);
}  // namespace

void bf16_of_f32(const float* from, std::uint16_t* to, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(ToBf16)(from, to, count);
}

void f32_of_bf16(const std::uint16_t* from, float* to, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(ToF32)(from, to, count);
}

std::unique_ptr<CpuKernel> prepare_cast(const KernelRequest& request) {
  const Grid grid = flat_grid(request.inputs[0].shape.elements(), 2);
  const bool narrows = request.outputs[0].dtype == DType::kBF16;
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = grid.begin(tile), length = grid.length(tile);
    if (narrows) {
      bf16_of_f32(input(args, 0) + begin, output<std::uint16_t>(args, 0) + begin, length);
    } else {
      f32_of_bf16(input<std::uint16_t>(args, 0) + begin, output(args, 0) + begin, length);
    }
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
