// Mixture of experts: routing, and rows to the experts and back. Rows are copied and added whole; the products are
// grouped_linear's.
#include "graph/ops/moe.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/moe.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Rows [first, first + count) of y from the tokens of `sources`; weights may be null.
void DispatchRows(const float* x, const std::int32_t* sources, const float* weights, std::int64_t choices,
                  std::int64_t first, std::int64_t count, std::int64_t n, float* y) {
  for (std::int64_t row = first; row < first + count; ++row) {
    float* to = y + row * n;
    if (sources[row] < 0) {
      std::fill_n(to, n, 0.0F);
    } else if (weights == nullptr) {
      std::copy_n(x + sources[row] / choices * n, n, to);
    } else {
      const FloatVector weight = splat(weights[sources[row]]);
      transform(
          n, to, [&](FloatVector v) HWY_ATTR { return hn::Mul(weight, v); }, x + sources[row] / choices * n);
    }
  }
}

// Tokens [first, first + count): the sums of their rows.
void CombineRows(const float* y, const std::int32_t* rows, const float* weights, std::int64_t choices,
                 std::int64_t first, std::int64_t count, std::int64_t n, float* out) {
  for (std::int64_t token = first; token < first + count; ++token) {
    float* to = out + token * n;
    bool begun = false;
    for (std::int64_t choice = token * choices; choice < (token + 1) * choices; ++choice) {
      if (rows[choice] < 0) continue;
      const FloatVector weight = splat(weights == nullptr ? 1.0F : weights[choice]);
      const float* from = y + rows[choice] * n;
      if (begun) {
        transform(
            n, to, [&](FloatVector v, FloatVector sum) HWY_ATTR { return hn::MulAdd(weight, v, sum); }, from, to);
      } else {
        transform(
            n, to, [&](FloatVector v) HWY_ATTR { return hn::Mul(weight, v); }, from);
      }
      begun = true;
    }
    if (!begun) std::fill_n(to, n, 0.0F);
  }
}

void RowProducts(const float* dout, const float* y, const std::int32_t* rows, std::int64_t choices, std::int64_t first,
                 std::int64_t count, std::int64_t n, float* dweights) {
  for (std::int64_t choice = first * choices; choice < (first + count) * choices; ++choice) {
    const float* a = dout + choice / choices * n;
    const float* b = y + rows[choice] * n;
    dweights[choice] = rows[choice] < 0 ? 0.0F : sum_over(n, [&](auto at, std::int64_t j) HWY_ATTR {
      return hn::Mul(at.load(a + j), at.load(b + j));
    });
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(DispatchRows);
HWY_EXPORT(CombineRows);
HWY_EXPORT(RowProducts);

namespace {

// The outputs of moe_route, in their order.
struct Routing {
  explicit Routing(const KernelArgs& args)
      : weights(output(args, 0)),
        rows(output<std::int32_t>(args, 1)),
        sources(output<std::int32_t>(args, 2)),
        offsets(output<std::int32_t>(args, 3)),
        chosen(output<std::int32_t>(args, 4)),
        probabilities(output(args, 5)),
        load(output(args, 6)),
        balance(output(args, 7)),
        dropped(output(args, 8)) {}
  float* weights;
  std::int32_t *rows, *sources, *offsets, *chosen;
  float *probabilities, *load, *balance, *dropped;
};

// One token: probabilities, the experts chosen, and their weights as if none were full.
void choose(const float* logits, std::int64_t experts, std::int64_t choices, float* probabilities, std::int32_t* chosen,
            float* weights) {
  const float largest = *std::max_element(logits, logits + experts);
  float sum = 0, chosen_sum = 0;
  for (std::int64_t e = 0; e < experts; ++e) sum += probabilities[e] = std::exp(logits[e] - largest);
  for (std::int64_t e = 0; e < experts; ++e) probabilities[e] /= sum;
  for (std::int64_t c = 0; c < choices; ++c) {
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < experts; ++e) {
      const auto taken = std::find(chosen, chosen + c, static_cast<std::int32_t>(e)) != chosen + c;
      if (!taken && (best < 0 || logits[e] > logits[best])) best = e;
    }
    chosen[c] = static_cast<std::int32_t>(best);
    chosen_sum += weights[c] = probabilities[best];
  }
  for (std::int64_t c = 0; c < choices; ++c) weights[c] /= chosen_sum;
}

// The rows of all choices, in the order of tokens; what finds its expert full is dropped.
void assign(const Routing& to, std::int64_t tokens, std::int64_t experts, const graph::MoeRouteAttributes& attributes) {
  const std::int64_t all = tokens * attributes.choices;
  std::vector<std::int32_t> asked(static_cast<std::size_t>(experts), 0), next(static_cast<std::size_t>(experts));
  for (std::int64_t choice = 0; choice < all; ++choice) ++asked[static_cast<std::size_t>(to.chosen[choice])];
  to.offsets[0] = 0;
  double balance = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::int32_t count = asked[static_cast<std::size_t>(e)];
    next[static_cast<std::size_t>(e)] = to.offsets[e];
    to.offsets[e + 1] = to.offsets[e] + std::min(count, static_cast<std::int32_t>(attributes.capacity));
    double mean = 0;
    for (std::int64_t token = 0; token < tokens; ++token) {
      mean += static_cast<double>(to.probabilities[token * experts + e]) / static_cast<double>(tokens);
    }
    const double load = all == 0 ? 0 : static_cast<double>(count) / static_cast<double>(all);
    to.load[e] = static_cast<float>(load);
    balance += static_cast<double>(experts) * load * mean;
  }
  for (std::int64_t choice = 0; choice < all; ++choice) {
    const std::int32_t e = to.chosen[choice];
    std::int32_t& row = next[static_cast<std::size_t>(e)];
    if (row == to.offsets[e + 1]) {
      to.rows[choice] = -1;
      to.weights[choice] = 0.0F;
    } else {
      to.rows[choice] = row;
      to.sources[row++] = static_cast<std::int32_t>(choice);
    }
  }
  const std::int64_t kept = to.offsets[experts];
  std::fill(to.sources + kept, to.sources + all, -1);
  *to.balance = static_cast<float>(balance);
  *to.dropped = all == 0 ? 0.0F : static_cast<float>(all - kept) / static_cast<float>(all);
}

}  // namespace

// Stage 0: tokens choose; stage 1, one tile: places are given out, since each depends on all before.
std::unique_ptr<CpuKernel> prepare_moe_route(const KernelRequest& request) {
  const auto attributes = graph::MoeRouteAttributes::from(request.attributes);
  const std::int64_t tokens = request.inputs[0].shape[0], experts = request.inputs[0].shape[1];
  const Grid grid = grid_of(tokens, 256 * experts);  // a token's exponentials cost what some hundred bytes do
  return tile_kernel({grid.tiles(), 1}, Bytes(0), [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
    const Routing to(args);
    if (stage == 1) return assign(to, tokens, experts, attributes);
    for (std::int64_t token = grid.begin(tile); token < grid.begin(tile) + grid.length(tile); ++token) {
      choose(input(args, 0) + token * experts, experts, attributes.choices, to.probabilities + token * experts,
             to.chosen + token * attributes.choices, to.weights + token * attributes.choices);
    }
  });
}

std::unique_ptr<CpuKernel> prepare_moe_route_grad(const KernelRequest& request) {
  const std::int64_t tokens = request.inputs[2].shape[0], experts = request.inputs[2].shape[1];
  const std::int64_t choices = request.inputs[0].shape[1];
  const Grid grid = grid_of(tokens, 64 * experts);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const float share = *input(args, 1) * static_cast<float>(experts) / static_cast<float>(tokens);
    const float* load = input(args, 5);
    for (std::int64_t token = grid.begin(tile); token < grid.begin(tile) + grid.length(tile); ++token) {
      const float* dweights = input(args, 0) + token * choices;
      const float* p = input(args, 2) + token * experts;
      const std::int32_t* chosen = input<std::int32_t>(args, 3) + token * choices;
      const std::int32_t* rows = input<std::int32_t>(args, 4) + token * choices;
      float* dlogits = output(args, 0) + token * experts;
      float sum = 0, mixed = 0, mean = 0;
      for (std::int64_t c = 0; c < choices; ++c) {
        sum += p[chosen[c]];
        if (rows[c] >= 0) mixed += dweights[c] * p[chosen[c]];
      }
      for (std::int64_t e = 0; e < experts; ++e) dlogits[e] = share * load[e];
      for (std::int64_t c = 0; c < choices; ++c) {
        dlogits[chosen[c]] += ((rows[c] >= 0 ? dweights[c] : 0.0F) - mixed / sum) / sum;
      }
      for (std::int64_t e = 0; e < experts; ++e) mean += p[e] * dlogits[e];
      for (std::int64_t e = 0; e < experts; ++e) dlogits[e] = p[e] * (dlogits[e] - mean);
    }
  });
}

std::unique_ptr<CpuKernel> prepare_moe_dispatch(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].shape[1], choices = request.inputs[1].shape[1];
  const bool weighted = request.inputs.size() == 4;
  const Grid grid = grid_of(request.outputs[0].shape[0], 8 * n);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    HWY_DYNAMIC_DISPATCH(DispatchRows)
    (input(args, 0), input<std::int32_t>(args, 2), weighted ? input(args, 3) : nullptr, choices, grid.begin(tile),
     grid.length(tile), n, output(args, 0));
  });
}

std::unique_ptr<CpuKernel> prepare_moe_combine(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].shape[1], choices = request.inputs[1].shape[1];
  const bool weighted = request.inputs.size() == 4;
  const Grid grid = grid_of(request.outputs[0].shape[0], 4 * n * (choices + 1));
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    HWY_DYNAMIC_DISPATCH(CombineRows)
    (input(args, 0), input<std::int32_t>(args, 1), weighted ? input(args, 3) : nullptr, choices, grid.begin(tile),
     grid.length(tile), n, output(args, 0));
  });
}

std::unique_ptr<CpuKernel> prepare_moe_weight_grad(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].shape[1], choices = request.inputs[2].shape[1];
  const Grid grid = grid_of(request.outputs[0].shape[0], 4 * n * (choices + 1));
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    HWY_DYNAMIC_DISPATCH(RowProducts)
    (input(args, 0), input(args, 1), input<std::int32_t>(args, 2), choices, grid.begin(tile), grid.length(tile), n,
     output(args, 0));
  });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
