// Parameter updates over all parameters in one grid, and the norm of all gradients.
//
// The parameters are laid end to end; a tile owns a fixed range of that line and walks over the pieces of parameters in
// it, which were found when the kernel was prepared. Every element is updated on its own, so how pieces are cut does
// not change the bits.
#include "graph/ops/optimizer.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/optimizer.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

#ifndef HEADWAY_BACKEND_CPU_OPTIMIZER_STEPS
#define HEADWAY_BACKEND_CPU_OPTIMIZER_STEPS
namespace headway::backend {
namespace {

// The numbers of one launch. `keep` is 1 - learning rate * decay for parameters that decay.
struct AdamWStep {
  float grad_factor, keep, beta1, beta2, one_minus_beta1, one_minus_beta2, step_size, inverse_root_bias2, eps;
};
struct SgdStep {
  float grad_factor, decay, momentum, learning_rate;
};

}  // namespace
}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

void AdamWElements(const AdamWStep& step, const float* p, const float* gradient, const float* m, const float* v,
                   float* p_out, float* m_out, float* v_out, std::int64_t n) {
  const FloatVector factor = splat(step.grad_factor), keep = splat(step.keep), eps = splat(step.eps);
  const FloatVector beta1 = splat(step.beta1), one_minus_beta1 = splat(step.one_minus_beta1);
  const FloatVector beta2 = splat(step.beta2), one_minus_beta2 = splat(step.one_minus_beta2);
  const FloatVector step_size = splat(step.step_size), inverse_root_bias2 = splat(step.inverse_root_bias2);
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR {
    const FloatVector g = hn::Mul(at.load(gradient + j), factor);
    const FloatVector first = hn::MulAdd(beta1, at.load(m + j), hn::Mul(one_minus_beta1, g));
    const FloatVector second = hn::MulAdd(beta2, at.load(v + j), hn::Mul(hn::Mul(one_minus_beta2, g), g));
    const FloatVector denominator = hn::MulAdd(hn::Sqrt(second), inverse_root_bias2, eps);
    const FloatVector decayed = hn::Mul(at.load(p + j), keep);
    at.store(first, m_out + j);
    at.store(second, v_out + j);
    at.store(hn::NegMulAdd(step_size, hn::Div(first, denominator), decayed), p_out + j);
  });
}

// Without momentum `buffer` is null.
void SgdElements(const SgdStep& step, const float* p, const float* gradient, const float* buffer, float* p_out,
                 float* buffer_out, std::int64_t n) {
  const FloatVector factor = splat(step.grad_factor), decay = splat(step.decay), momentum = splat(step.momentum);
  const FloatVector learning_rate = splat(step.learning_rate);
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR {
    const FloatVector parameter = at.load(p + j);
    FloatVector update = hn::MulAdd(decay, parameter, hn::Mul(at.load(gradient + j), factor));
    if (buffer != nullptr) {
      update = hn::MulAdd(momentum, at.load(buffer + j), update);
      at.store(update, buffer_out + j);
    }
    at.store(hn::NegMulAdd(learning_rate, update, parameter), p_out + j);
  });
}

// The sum of squares in f64. Squares of f32 are exact in f64, and element i always goes into partial sum i mod 16, so
// the result does not depend on the instruction set either.
double SumOfSquares(const float* x, std::int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  constexpr std::int64_t kDoubles = HWY_LANES(double), kSums = 16, kVectors = kSums / kDoubles;
  hn::Vec<decltype(d)> sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  const std::int64_t whole = n - n % kSums;
  for (std::int64_t j = 0; j < whole; j += kSums) {
    for (std::int64_t v = 0; v < kVectors; ++v) {
      const auto wide = hn::PromoteTo(d, hn::LoadU(half, x + j + v * kDoubles));
      sums[v] = hn::MulAdd(wide, wide, sums[v]);
    }
  }
  HWY_ALIGN double lanes[kSums];
  for (std::int64_t v = 0; v < kVectors; ++v) hn::Store(sums[v], d, lanes + v * kDoubles);
  for (std::int64_t j = whole; j < n; ++j) lanes[j - whole] += static_cast<double>(x[j]) * static_cast<double>(x[j]);
  double total = 0;
  for (const double lane : lanes) total += lane;
  return total;
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(AdamWElements);
HWY_EXPORT(SgdElements);
HWY_EXPORT(SumOfSquares);

namespace {

// A range of elements of one of the arrays.
struct Piece {
  std::size_t array = 0;
  std::int64_t begin = 0, length = 0;
};

// Pieces in order, and for each tile the first of its pieces; tile t owns pieces first[t] .. first[t + 1] - 1.
struct PiecePlan {
  std::vector<Piece> pieces;
  std::vector<std::size_t> first;

  std::int64_t tiles() const { return static_cast<std::int64_t>(first.size()) - 1; }

  template <class Body>
  void for_tile(std::int64_t tile, const Body& body) const {
    for (std::size_t i = first[static_cast<std::size_t>(tile)]; i < first[static_cast<std::size_t>(tile) + 1]; ++i) {
      body(pieces[i], i);
    }
  }
};

// Cuts every array into pieces of `piece` elements (the last one shorter), and fills tiles up to `tile` elements.
PiecePlan plan_pieces(const std::vector<std::int64_t>& sizes, std::int64_t piece, std::int64_t tile) {
  PiecePlan plan;
  std::int64_t filled = tile;
  for (std::size_t array = 0; array < sizes.size(); ++array) {
    for (std::int64_t begin = 0; begin < sizes[array]; begin += piece) {
      const std::int64_t length = std::min(piece, sizes[array] - begin);
      if (filled + length > tile) {
        plan.first.push_back(plan.pieces.size());
        filled = 0;
      }
      plan.pieces.push_back({array, begin, length});
      filled += length;
    }
  }
  plan.first.push_back(plan.pieces.size());
  return plan;
}

constexpr std::int64_t kNormBlock = 4096;    // part of grad_norm's contract
constexpr std::int64_t kUpdatePiece = 8192;  // elements; a tile has two: 7 arrays x 64 KiB
constexpr std::int64_t kNormTile = 16 * kNormBlock;

// Sizes of every `group`-th operand from `head` on.
std::vector<std::int64_t> sizes_of(graph::Types inputs, std::size_t head, std::size_t group) {
  std::vector<std::int64_t> sizes;
  for (std::size_t index = head; index < inputs.size(); index += group) sizes.push_back(inputs[index].shape.elements());
  return sizes;
}

// What gradients are multiplied by. A norm of NaN makes it NaN, as in PyTorch.
float gradient_factor(const KernelArgs& args, double grad_scale, double clip) {
  if (clip <= 0) return static_cast<float>(grad_scale);
  const double ratio = clip / (static_cast<double>(*input(args, 1)) + 1e-6);
  return static_cast<float>(grad_scale * (ratio > 1 ? 1 : ratio));
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_grad_norm(const KernelRequest& request) {
  const double scale = graph::GradNormAttributes::from(request.attributes).scale;
  PiecePlan plan = plan_pieces(sizes_of(request.inputs, 0, 1), kNormBlock, kNormTile);
  const std::int64_t tiles = plan.tiles(), blocks = static_cast<std::int64_t>(plan.pieces.size());
  return tile_kernel({tiles, 1}, Bytes(8 * blocks),
                     [=, plan = std::move(plan)](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       double* partial = scratch<double>(args);
                       if (stage == 0) {
                         plan.for_tile(tile, [&](const Piece& piece, std::size_t index) {
                           partial[index] =
                               HWY_DYNAMIC_DISPATCH(SumOfSquares)(input(args, piece.array) + piece.begin, piece.length);
                         });
                       } else {
                         double total = 0;
                         for (std::int64_t block = 0; block < blocks; ++block) total += partial[block];
                         *output(args, 0) = static_cast<float>(std::sqrt(total) * scale);
                       }
                     });
}

std::unique_ptr<CpuKernel> prepare_adamw(const KernelRequest& request) {
  const auto attributes = graph::AdamWAttributes::from(request.attributes);
  const std::size_t head = attributes.clip > 0 ? 2 : 1;
  PiecePlan plan = plan_pieces(sizes_of(request.inputs, head, 4), kUpdatePiece, 2 * kUpdatePiece);
  const std::int64_t tiles = plan.tiles();
  return tile_kernel(
      {tiles}, Bytes(0), [=, plan = std::move(plan)](std::size_t, std::int64_t tile, const KernelArgs& args) {
        const float* hyper = input(args, 0);
        const double learning_rate = hyper[graph::kLearningRate];
        AdamWStep step{};
        step.grad_factor = gradient_factor(args, attributes.grad_scale, attributes.clip);
        step.beta1 = static_cast<float>(attributes.beta1);
        step.beta2 = static_cast<float>(attributes.beta2);
        step.one_minus_beta1 = static_cast<float>(1 - attributes.beta1);
        step.one_minus_beta2 = static_cast<float>(1 - attributes.beta2);
        step.step_size = static_cast<float>(learning_rate / hyper[graph::kBias1]);
        step.inverse_root_bias2 = static_cast<float>(1 / std::sqrt(double{hyper[graph::kBias2]}));
        step.eps = static_cast<float>(attributes.eps);
        plan.for_tile(tile, [&](const Piece& piece, std::size_t) {
          const bool decays = attributes.decay_mask[piece.array] != 0;
          step.keep = decays ? static_cast<float>(1 - learning_rate * attributes.weight_decay) : 1.0F;
          const std::size_t in = head + 4 * piece.array, out = 3 * piece.array;
          HWY_DYNAMIC_DISPATCH(AdamWElements)
          (step, input(args, in) + piece.begin, input(args, in + 1) + piece.begin, input(args, in + 2) + piece.begin,
           input(args, in + 3) + piece.begin, output(args, out) + piece.begin, output(args, out + 1) + piece.begin,
           output(args, out + 2) + piece.begin, piece.length);
        });
      });
}

std::unique_ptr<CpuKernel> prepare_sgd(const KernelRequest& request) {
  const auto attributes = graph::SgdAttributes::from(request.attributes);
  const bool has_buffer = attributes.momentum > 0;
  const std::size_t head = attributes.clip > 0 ? 2 : 1, group = has_buffer ? 3 : 2;
  PiecePlan plan = plan_pieces(sizes_of(request.inputs, head, group), kUpdatePiece, 2 * kUpdatePiece);
  const std::int64_t tiles = plan.tiles();
  return tile_kernel({tiles}, Bytes(0),
                     [=, plan = std::move(plan)](std::size_t, std::int64_t tile, const KernelArgs& args) {
                       SgdStep step{};
                       step.grad_factor = gradient_factor(args, attributes.grad_scale, attributes.clip);
                       step.momentum = static_cast<float>(attributes.momentum);
                       step.learning_rate = input(args, 0)[graph::kLearningRate];
                       plan.for_tile(tile, [&](const Piece& piece, std::size_t) {
                         const bool decays = attributes.decay_mask[piece.array] != 0;
                         step.decay = decays ? static_cast<float>(attributes.weight_decay) : 0.0F;
                         const std::size_t in = head + group * piece.array, out = (group - 1) * piece.array;
                         HWY_DYNAMIC_DISPATCH(SgdElements)
                         (step, input(args, in) + piece.begin, input(args, in + 1) + piece.begin,
                          has_buffer ? input(args, in + 2) + piece.begin : nullptr, output(args, out) + piece.begin,
                          has_buffer ? output(args, out + 1) + piece.begin : nullptr, piece.length);
                       });
                     });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
