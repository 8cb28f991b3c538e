// Rotary positions. Cosines and sines of all positions are computed in f64 when the kernel is prepared.
#include "graph/ops/rotary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rotary.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// One row: `heads` heads of two halves each.
void RotateRow(const float* x, const float* cosines, const float* sines, std::int64_t heads, std::int64_t half,
               float* y) {
  for (std::int64_t head = 0; head < heads; ++head, x += 2 * half, y += 2 * half) {
    for_each_vector(half, [&](auto at, std::int64_t d) HWY_ATTR {
      const FloatVector first = at.load(x + d), second = at.load(x + half + d);
      const FloatVector cosine = at.load(cosines + d), sine = at.load(sines + d);
      at.store(hn::NegMulAdd(second, sine, hn::Mul(first, cosine)), y + d);
      at.store(hn::MulAdd(first, sine, hn::Mul(second, cosine)), y + half + d);
    });
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {
namespace {

HWY_EXPORT(RotateRow);

class RotaryKernel final : public CpuKernel {
 public:
  RotaryKernel(const graph::RotaryAttributes& attributes, const Shape& shape, const Grid& grid)
      : CpuKernel({grid.tiles()}),
        grid_(grid),
        sequence_(shape[1]),
        width_(shape[2]),
        heads_(attributes.heads),
        half_(attributes.head_size / 2) {
    const auto size = static_cast<double>(attributes.head_size);
    for (std::int64_t position = 0; position < sequence_; ++position) {
      for (std::int64_t d = 0; d < half_; ++d) {
        const double angle =
            static_cast<double>(position) * std::pow(attributes.theta, -2.0 * static_cast<double>(d) / size);
        cosines_.push_back(static_cast<float>(std::cos(angle)));
        sines_.push_back(static_cast<float>(attributes.inverse ? -std::sin(angle) : std::sin(angle)));
      }
    }
  }

  std::string variant() const override { return "highway"; }

  void run(std::size_t /*stage*/, std::int64_t tile, const KernelArgs& args) const override {
    const std::int64_t rotated = 2 * heads_ * half_;
    for (std::int64_t row = grid_.begin(tile); row < grid_.begin(tile) + grid_.length(tile); ++row) {
      const std::int64_t angles = row % sequence_ * half_;
      const float* x = input(args, 0) + row * width_;
      float* y = output(args, 0) + row * width_;
      HWY_DYNAMIC_DISPATCH(RotateRow)(x, cosines_.data() + angles, sines_.data() + angles, heads_, half_, y);
      std::copy(x + rotated, x + width_, y + rotated);
    }
  }

 private:
  Grid grid_;
  std::int64_t sequence_, width_, heads_, half_;
  std::vector<float> cosines_, sines_;  // [sequence, half]
};

}  // namespace

std::unique_ptr<CpuKernel> prepare_rotary(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const Grid grid = grid_of(shape.elements() == 0 ? 0 : shape[0] * shape[1], 8 * shape[2]);
  return std::make_unique<RotaryKernel>(graph::RotaryAttributes::from(request.attributes), shape, grid);
}

}  // namespace headway::backend
#endif  // HWY_ONCE
