// Arithmetic on two operands that broadcast, and the copy of one that does.
//
// Axes along which the same operands move are one axis. The last one is a run: both operands go along it, or one stays.
// The runs before it are walked like an odometer, so that an index is divided once a tile only.
#include <algorithm>
#include <array>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/binary.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

#ifndef HEADWAY_BACKEND_CPU_BINARY_RUN
#define HEADWAY_BACKEND_CPU_BINARY_RUN
namespace headway::backend {
namespace {

// Which operands move along an axis.
struct Moves {
  bool a = false, b = false;
  bool operator==(const Moves&) const = default;
};

}  // namespace
}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

template <class Operation>
HWY_INLINE void combine_run(const Operation& operation, const float* a, const float* b, float* y, std::int64_t n,
                            Moves moves) {
  if (moves.a && moves.b) {
    transform(
        n, y, [&](FloatVector v, FloatVector w) HWY_ATTR { return operation(v, w); }, a, b);
  } else if (moves.a) {
    const FloatVector w = splat(*b);
    transform(
        n, y, [&](FloatVector v) HWY_ATTR { return operation(v, w); }, a);
  } else {
    const FloatVector v = splat(*a);
    transform(
        n, y, [&](FloatVector w) HWY_ATTR { return operation(v, w); }, b);
  }
}

void AddRun(const float* a, const float* b, float* y, std::int64_t n, Moves moves) {
  combine_run([](FloatVector v, FloatVector w) HWY_ATTR { return hn::Add(v, w); }, a, b, y, n, moves);
}
void SubtractRun(const float* a, const float* b, float* y, std::int64_t n, Moves moves) {
  combine_run([](FloatVector v, FloatVector w) HWY_ATTR { return hn::Sub(v, w); }, a, b, y, n, moves);
}
void MultiplyRun(const float* a, const float* b, float* y, std::int64_t n, Moves moves) {
  combine_run([](FloatVector v, FloatVector w) HWY_ATTR { return hn::Mul(v, w); }, a, b, y, n, moves);
}
void DivideRun(const float* a, const float* b, float* y, std::int64_t n, Moves moves) {
  combine_run([](FloatVector v, FloatVector w) HWY_ATTR { return hn::Div(v, w); }, a, b, y, n, moves);
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(AddRun);
HWY_EXPORT(SubtractRun);
HWY_EXPORT(MultiplyRun);
HWY_EXPORT(DivideRun);

namespace {

using CombineRun = void (*)(const float* a, const float* b, float* y, std::int64_t n, Moves moves);

struct Axis {
  std::int64_t extent = 1;
  Moves moves;
  std::int64_t stride_a = 0, stride_b = 0;  // 0 where the operand stays
};

// The output's axes, merged, without those of extent 1; at least one.
std::vector<Axis> merged_axes(const Shape& a, const Shape& b, const Shape& y) {
  std::vector<Axis> axes;  // from the last
  std::int64_t stride_a = 1, stride_b = 1;
  for (std::int64_t back = 1; back <= y.rank(); ++back) {
    const std::int64_t extent = y[-back];
    if (extent == 1) continue;
    const Moves moves{back <= a.rank() && a[-back] != 1, back <= b.rank() && b[-back] != 1};
    if (axes.empty() || axes.back().moves != moves) {
      axes.push_back({1, moves, moves.a ? stride_a : 0, moves.b ? stride_b : 0});
    }
    axes.back().extent *= extent;
    if (moves.a) stride_a *= extent;
    if (moves.b) stride_b *= extent;
  }
  if (axes.empty()) axes.push_back({1, {true, true}, 1, 1});
  std::reverse(axes.begin(), axes.end());
  return axes;
}

// A place in the output, at the beginning of a run, and those of the operands that meet there.
class Walk {
 public:
  Walk(const std::vector<Axis>& axes, std::int64_t run) : axes_(axes) {
    for (std::size_t axis = axes.size() - 1; axis-- > 0;) {
      move(axis, run % axes[axis].extent);
      run /= axes[axis].extent;
    }
  }
  std::int64_t a() const { return a_; }
  std::int64_t b() const { return b_; }
  void next() {
    for (std::size_t axis = axes_.size() - 1; axis-- > 0;) {
      if (place_[axis] + 1 < axes_[axis].extent) return move(axis, 1);
      move(axis, -place_[axis]);
    }
  }

 private:
  void move(std::size_t axis, std::int64_t by) {
    place_[axis] += by;
    a_ += by * axes_[axis].stride_a;
    b_ += by * axes_[axis].stride_b;
  }

  const std::vector<Axis>& axes_;
  std::array<std::int64_t, 16> place_{};
  std::int64_t a_ = 0, b_ = 0;
};

// Calls body(a, b, y, n, moves) with the offsets and the length of every run, or part of one, of elements [begin, end).
template <class Body>
void for_each_run(const std::vector<Axis>& axes, std::int64_t begin, std::int64_t end, const Body& body) {
  const Axis& run = axes.back();
  Walk walk(axes, begin / run.extent);
  std::int64_t skip = begin % run.extent;
  while (begin < end) {
    const std::int64_t n = std::min(run.extent - skip, end - begin);
    body(walk.a() + skip * run.stride_a, walk.b() + skip * run.stride_b, begin, n, run.moves);
    begin += n;
    skip = 0;
    walk.next();
  }
}

template <class Choose>
std::unique_ptr<CpuKernel> binary_kernel(const KernelRequest& request, Choose function) {
  const Shape& y = request.outputs[0].shape;
  const Grid grid = flat_grid(y.elements(), 3);
  return tile_kernel({grid.tiles()}, Bytes(0),
                     [=, axes = merged_axes(request.inputs[0].shape, request.inputs[1].shape, y)](
                         std::size_t, std::int64_t tile, const KernelArgs& args) {
                       const std::int64_t begin = grid.begin(tile);
                       const CombineRun combine = function();
                       for_each_run(axes, begin, begin + grid.length(tile),
                                    [&](std::int64_t a, std::int64_t b, std::int64_t to, std::int64_t n, Moves moves) {
                                      combine(input(args, 0) + a, input(args, 1) + b, output(args, 0) + to, n, moves);
                                    });
                     });
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_add(const KernelRequest& request) {
  return binary_kernel(request, []() -> CombineRun { return HWY_DYNAMIC_DISPATCH(AddRun); });
}

std::unique_ptr<CpuKernel> prepare_sub(const KernelRequest& request) {
  return binary_kernel(request, []() -> CombineRun { return HWY_DYNAMIC_DISPATCH(SubtractRun); });
}

std::unique_ptr<CpuKernel> prepare_mul(const KernelRequest& request) {
  return binary_kernel(request, []() -> CombineRun { return HWY_DYNAMIC_DISPATCH(MultiplyRun); });
}

std::unique_ptr<CpuKernel> prepare_div(const KernelRequest& request) {
  return binary_kernel(request, []() -> CombineRun { return HWY_DYNAMIC_DISPATCH(DivideRun); });
}

std::unique_ptr<CpuKernel> prepare_expand(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  const Grid grid = flat_grid(y.elements(), 2);
  return tile_kernel(
      {grid.tiles()}, Bytes(0),
      [=, axes = merged_axes(request.inputs[0].shape, {}, y)](std::size_t, std::int64_t tile, const KernelArgs& args) {
        const std::int64_t begin = grid.begin(tile);
        for_each_run(axes, begin, begin + grid.length(tile),
                     [&](std::int64_t a, std::int64_t, std::int64_t to, std::int64_t n, Moves moves) {
                       const float* from = input(args, 0) + a;
                       if (moves.a) {
                         std::copy_n(from, n, output(args, 0) + to);
                       } else {
                         std::fill_n(output(args, 0) + to, n, *from);
                       }
                     });
      });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
