// SwiGLU and its gradient, which takes one exponential for both of its outputs.
#include "graph/ops/swiglu.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/swiglu.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

void SwigluElements(const float* gate, const float* up, float* y, std::int64_t n) {
  transform(
      n, y, [](FloatVector g, FloatVector u) HWY_ATTR { return hn::Mul(Silu::value(g), u); }, gate, up);
}

// With s = sigmoid(g) and e = exp(-g), where 1 - s = e s: dgate = dy u s (1 + g e s), dup = dy g s. e stays finite: for
// g under -80 the sigmoid is that of -80, 2e-35.
template <class Access>
HWY_INLINE void gradient_at(Access at, std::int64_t j, const float* dy, const float* gate, const float* up,
                            float* dgate, float* dup) {
  const FloatVector g = at.load(gate + j), d = at.load(dy + j), u = at.load(up + j);
  const FloatVector e = exp_of(hn::Neg(hn::Max(splat(-80.0F), g)));
  const FloatVector s = hn::Div(splat(1.0F), hn::Add(splat(1.0F), e));
  const FloatVector silu = hn::Mul(g, s);
  at.store(hn::Mul(hn::Mul(d, u), hn::Mul(s, hn::MulAdd(silu, e, splat(1.0F)))), dgate + j);
  at.store(hn::Mul(d, silu), dup + j);
}

void SwigluGradElements(const float* dy, const float* gate, const float* up, float* dgate, float* dup, std::int64_t n) {
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR { gradient_at(at, j, dy, gate, up, dgate, dup); });
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(SwigluElements);
HWY_EXPORT(SwigluGradElements);

std::unique_ptr<CpuKernel> prepare_swiglu(const KernelRequest& request) {
  const Grid grid = flat_grid(request.inputs[0].shape.elements(), 3);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = grid.begin(tile);
    HWY_DYNAMIC_DISPATCH(SwigluElements)
    (input(args, 0) + begin, input(args, 1) + begin, output(args, 0) + begin, grid.length(tile));
  });
}

std::unique_ptr<CpuKernel> prepare_swiglu_grad(const KernelRequest& request) {
  const Grid grid = flat_grid(request.inputs[0].shape.elements(), 5);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = grid.begin(tile);
    HWY_DYNAMIC_DISPATCH(SwigluGradElements)
    (input(args, 0) + begin, input(args, 1) + begin, input(args, 2) + begin, output(args, 0) + begin,
     output(args, 1) + begin, grid.length(tile));
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
