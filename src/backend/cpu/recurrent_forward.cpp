// Recurrent layers, forward.
//
// A step is one product [samples, features + hidden] x [features + hidden, 4 hidden], with a cell on every element of
// the result. Weights are packed once a launch in panels: one vector of units of all four blocks, so that a strip times
// a panel leaves in registers everything that these units' cells need. A panel (32 KiB for 64 + 64 inner elements)
// stays in the L1 cache while all strips of a tile pass by.
#include "backend/cpu/kernels.h"
#include "backend/cpu/recurrent_problem.h"
#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/recurrent_forward.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "backend/cpu/recurrent_cells-inl.h"
#include "backend/cpu/recurrent_products-inl.h"

#ifndef HEADWAY_BACKEND_CPU_RECURRENT_FORWARD
#define HEADWAY_BACKEND_CPU_RECURRENT_FORWARD
namespace headway::backend {
namespace {

// A panel: a row of biases, then `inner` rows of weights, each a vector of every block.
struct ForwardWeights {
  const float *w_ih, *w_hh, *b_ih, *b_hh;
};

// The operands of a tile of `rows` samples; saved arrays begin at its first sample.
struct ForwardTile {
  const float *packed, *x;
  float *y, *activations, *states, *product;  // product: the n block of v of a GRU
  float *hidden, *other_hidden, *state;       // [rows, hidden]: h of the step before and of this one; c of an LSTM
  std::int64_t rows;
  bool streams;  // outputs are whole aligned vectors
};

}  // namespace
}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

std::int64_t RecurrentLanes() {
  return kLanes;
}

// The panel of one vector of units.
void PackForward(const RecurrentProblem& p, const ForwardWeights& weights, std::int64_t vector, float* panel) {
  const auto from_input = p.input_block(), from_hidden = p.hidden_block();
  std::fill(panel, panel + (p.inner() + 1) * kPanelColumns, 0.0F);
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const bool is_tanh = block == 2 || (p.cell == graph::Cell::kGru && block == 3);
    const float scale = is_tanh ? 1.0F : 0.5F;
    for (std::int64_t lane = 0; lane < std::min(kLanes, p.hidden - vector * kLanes); ++lane) {
      const std::int64_t unit = vector * kLanes + lane;
      float* to = panel + static_cast<std::int64_t>(block) * kLanes + lane;
      float bias = 0;
      const auto add = [&](int rows, const float* w, const float* b, std::int64_t k, std::int64_t first) {
        if (rows < 0) return;
        const std::int64_t row = rows * p.hidden + unit;
        bias += b[row];
        for (std::int64_t i = 0; i < k; ++i) to[(1 + first + i) * kPanelColumns] = scale * w[row * k + i];
      };
      add(from_input[block], weights.w_ih, weights.b_ih, p.features, 0);
      add(from_hidden[block], weights.w_hh, weights.b_hh, p.hidden, p.features);
      to[0] = scale * bias;
    }
  }
}

// Stores past the caches, without reading the line first. Nothing of what a step saves is read before the backward
// pass, and a store that waits for its line would hold up every later load that agrees with it in the low 12 bits of
// its address, which weights of 32 KiB always do.
struct Streamed {
  HWY_INLINE void store(FloatVector v, float* p) const { hn::Stream(v, FloatTag(), p); }
};

// The cells of one sample and one vector of units.
template <class Cell, class At, class Out>
HWY_INLINE void run_cell(const RecurrentProblem& p, const ForwardTile& tile, std::int64_t step, std::int64_t row,
                         std::int64_t unit, const float* sums, At at, Out out) {
  const std::int64_t of_state = (step * p.batch + row) * p.hidden + unit;
  float* state = tile.state + row * p.hidden + unit;
  const CellValues cell = Cell::values(sums, step == 0 ? splat(0.0F) : at.load(state));
  float* activations = tile.activations + (step * p.batch + row) * p.gates * p.hidden + unit;
  HWY_UNROLL(3)
  for (int block = 0; block < 3; ++block) out.store(cell.block[block], activations + block * p.hidden);
  out.store(cell.block[3], p.gates == 4 ? activations + 3 * p.hidden : tile.product + of_state);
  out.store(cell.state, tile.states + of_state);
  at.store(cell.state, state);
  at.store(cell.hidden, tile.other_hidden + row * p.hidden + unit);
  if (!p.last) {
    out.store(cell.hidden, tile.y + row * p.y_stride() + step * p.hidden + unit);
  } else if (step == p.steps - 1) {
    at.store(cell.hidden, tile.y + row * p.y_stride() + unit);
  }
}

// kRows samples, one vector of units, one step.
template <class Cell, int kRows>
HWY_NOINLINE void forward_strip(const RecurrentProblem& p, const ForwardTile& tile, std::int64_t step, std::int64_t row,
                                std::int64_t vector) {
  const float* panel = tile.packed + vector * (p.inner() + 1) * kPanelColumns;
  FloatVector sums[kRows][kPanelVectors];  // NOLINT(modernize-avoid-c-arrays): vectors in registers
  HWY_UNROLL(6)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int block = 0; block < kPanelVectors; ++block) sums[r][block] = Whole{}.load(panel + block * kLanes);
  }
  panel += kPanelColumns;
  const std::int64_t x_stride = p.steps * p.features;
  add_products(sums, p.features, {tile.x + row * x_stride + step * p.features, x_stride, 1}, panel, kPanelColumns);
  panel += p.features * kPanelColumns;
  if (step > 0) add_products(sums, p.hidden, {tile.hidden + row * p.hidden, p.hidden, 1}, panel, kPanelColumns);

  HWY_ALIGN float waiting[kRows * kPanelColumns];  // NOLINT(modernize-avoid-c-arrays)
  store_sums(sums, waiting, kPanelColumns, kPanelColumns, false);
  const std::int64_t unit = vector * kLanes;
  for (int r = 0; r < kRows; ++r) {
    const float* of_row = waiting + r * kPanelColumns;
    if (tile.streams) {
      run_cell<Cell>(p, tile, step, row + r, unit, of_row, Whole{}, Streamed{});
    } else if (unit + kLanes <= p.hidden) {
      run_cell<Cell>(p, tile, step, row + r, unit, of_row, Whole{}, Whole{});
    } else {
      run_cell<Cell>(p, tile, step, row + r, unit, of_row, First{p.hidden - unit}, First{p.hidden - unit});
    }
  }
}

template <class Cell>
void run_steps(const RecurrentProblem& p, ForwardTile tile) {
  for (std::int64_t step = 0; step < p.steps; ++step) {
    for (std::int64_t vector = 0; vector < p.unit_vectors(); ++vector) {
      for_each_strip(tile.rows, [&](auto rows, std::int64_t row) HWY_ATTR {
        forward_strip<Cell, decltype(rows)::value>(p, tile, step, row, vector);
      });
    }
    std::swap(tile.hidden, tile.other_hidden);
  }
  hwy::FlushStream();
}

void ForwardSteps(const RecurrentProblem& p, const ForwardTile& tile) {
  if (p.cell == graph::Cell::kLstm) {
    run_steps<LstmCell>(p, tile);
  } else {
    run_steps<GruCell>(p, tile);
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(RecurrentLanes);
HWY_EXPORT(PackForward);
HWY_EXPORT(ForwardSteps);

std::int64_t recurrent_lanes() {
  return HWY_DYNAMIC_DISPATCH(RecurrentLanes)();
}

namespace {

// Whether all outputs can be streamed: vectors of units are whole and lie on their own size.
bool streams(const RecurrentProblem& p, const KernelArgs& args) {
  const auto aligned = [&](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(4 * p.lanes) == 0;
  };
  return p.hidden == p.padded && std::all_of(args.outputs.begin(), args.outputs.end(), aligned);
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_recurrent(const KernelRequest& request) {
  const auto attributes = graph::RecurrentAttributes::from(request.attributes);
  const RecurrentProblem p(attributes.cell, attributes.last, request.inputs[0].shape, request.inputs[2].shape);
  const Grid tiles = p.tiles();
  // Workspace: the panels; then for each tile h of two steps.
  const std::int64_t panel = (p.inner() + 1) * kBlocks * p.lanes, packed = whole_lines(p.unit_vectors() * panel);
  const std::int64_t hidden = whole_lines(tiles.size * p.hidden);
  const Bytes workspace(4 * (packed + 3 * tiles.tiles() * hidden));
  return tile_kernel(
      {p.unit_vectors(), tiles.tiles()}, workspace, [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
        float* panels = scratch(args);
        if (stage == 0) {
          HWY_DYNAMIC_DISPATCH(PackForward)
          (p, {input(args, 1), input(args, 2), input(args, 3), input(args, 4)}, tile, panels + tile * panel);
          return;
        }
        const std::int64_t first = tiles.begin(tile);
        float* own = panels + packed + 3 * tile * hidden;
        HWY_DYNAMIC_DISPATCH(ForwardSteps)
        (p, ForwardTile{.packed = panels,
                        .x = input(args, 0) + first * p.steps * p.features,
                        .y = output(args, 0) + first * p.y_stride(),
                        .activations = output(args, 1) + first * p.gates * p.hidden,
                        .states = output(args, 2) + first * p.hidden,
                        .product = p.gates == 4 ? nullptr : output(args, 3) + first * p.hidden,
                        .hidden = own,
                        .other_hidden = own + hidden,
                        .state = own + 2 * hidden,
                        .rows = tiles.length(tile),
                        .streams = streams(p, args)});
      });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
