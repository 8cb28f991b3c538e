// Recurrent layers, backward: through the steps from the last to the first, each
//   1. the cells: from dh and what the forward pass saved the gradient dG of the four blocks of columns, and h_t;
//   2. dW += dG_(t+1)^T [x_(t+1) h_t], while both lie in the cache; h is computed again, so the layer keeps no copy;
//   3. dh_(t-1) and dx_t = dG_t W.
// A tile adds up weight gradients of its own over all steps; a last stage adds those of all tiles, in order.
#include "backend/cpu/kernels.h"
#include "backend/cpu/recurrent_problem.h"
#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/recurrent_backward.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/recurrent_cells-inl.h"
#include "backend/cpu/recurrent_products-inl.h"

#ifndef HEADWAY_BACKEND_CPU_RECURRENT_BACKWARD
#define HEADWAY_BACKEND_CPU_RECURRENT_BACKWARD
namespace headway::backend {
namespace {

// Where the workspace has what, in floats. Panels: a [columns, hidden] and w_ih [columns, features] in panels of four
// vectors, the last one padded with zeros. Then, for each tile, its sums and its scratch.
struct BackwardPlan {
  RecurrentProblem p;
  bool input_gradient;
  Grid tiles;
  std::int64_t panel_columns, panel, hidden_panels, input_panels;
  std::int64_t gate_stride, inner_stride, hidden_stride;  // of rows of dG, of [x h], of dh
  std::int64_t sums, scratch;                             // of a tile: [inner + 1, columns], the last row for biases

  BackwardPlan(const RecurrentProblem& problem, bool with_input_gradient)
      : p(problem), input_gradient(with_input_gradient), tiles(problem.tiles()) {
    panel_columns = 4 * p.lanes;
    panel = p.columns() * panel_columns;
    hidden_panels = divide_up(p.hidden, panel_columns);
    input_panels = input_gradient ? divide_up(p.features, panel_columns) : 0;
    // A line more than needed: rows a multiple of 4 KiB apart would share few lines of the L1 cache.
    gate_stride = p.columns() + 16;
    inner_stride = whole_lines(p.features + p.padded) + 16;
    hidden_stride = hidden_panels * panel_columns;
    sums = whole_lines((p.inner() + 1) * p.columns());
    scratch = tiles.size * (2 * gate_stride + inner_stride + hidden_stride + whole_lines(p.padded));
  }

  std::int64_t panels() const { return hidden_panels + input_panels; }
  std::int64_t first_sums() const { return panels() * panel; }
  std::int64_t first_scratch() const { return first_sums() + tiles.tiles() * sums; }
  std::int64_t floats() const { return first_scratch() + tiles.tiles() * scratch; }
};

// The operands of a tile of `rows` samples, at its first sample.
struct BackwardTile {
  const float *dy, *x, *activations, *states, *product, *panels;
  float *dx, *sums, *gates, *other_gates, *inner, *dhidden, *carry;
  std::int64_t rows;
};

}  // namespace
}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Depth of a product for which a panel stays in the L1 cache.
constexpr std::int64_t kDepth = 128;

// One panel: `width` columns from `first` on of w [.., n], whose rows are put where their columns of dG are.
void PackBackward(const BackwardPlan& plan, std::int64_t number, const float* w_ih, const float* w_hh, float* panel) {
  const RecurrentProblem& p = plan.p;
  const bool of_hidden = number < plan.hidden_panels;
  const float* w = of_hidden ? w_hh : w_ih;
  const std::int64_t n = of_hidden ? p.hidden : p.features;
  const std::int64_t first = (of_hidden ? number : number - plan.hidden_panels) * kPanelColumns;
  const std::int64_t width = std::min(kPanelColumns, n - first);
  const auto blocks = of_hidden ? p.hidden_block() : p.input_block();
  std::fill(panel, panel + plan.panel, 0.0F);
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const int from = blocks[static_cast<std::size_t>(block)];
    for (std::int64_t unit = 0; from >= 0 && unit < p.hidden; ++unit) {
      const float* row = w + (from * p.hidden + unit) * n + first;
      std::copy(row, row + width, panel + (block * p.padded + unit) * kPanelColumns);
    }
  }
}

// Fetches what the step before reads into the L2 cache, a few lines with every strip of a product: the cells read it
// all at once, faster than memory gives it.
class Prefetcher {
 public:
  Prefetcher(const BackwardPlan& plan, const BackwardTile& tile, std::int64_t step) {
    const RecurrentProblem& p = plan.p;
    if (step == 0) return;
    strips_ = divide_up(tile.rows, kStripRows) * plan.panels() * divide_up(p.columns(), kDepth) +
              (step + 1 < p.steps ? divide_up(p.inner(), kStripRows) * p.unit_vectors() : 0);
    const std::int64_t states = p.batch * p.hidden, all = tile.rows * p.hidden;
    add(tile.activations + (step - 1) * states * p.gates, 1, 0, all * p.gates);
    if (step > 1) add(tile.states + (step - 2) * states, 1, 0, all);
    if (tile.product != nullptr) add(tile.product + (step - 1) * states, 1, 0, all);
    if (!p.last) add(tile.dy + (step - 1) * p.hidden, tile.rows, p.y_stride(), p.hidden);
    add(tile.x + (step - 1) * p.features, tile.rows, p.steps * p.features, p.features);
  }

  HWY_INLINE void run() {
    for (int i = 0; i < count_; ++i) {
      Range& range = ranges_[i];
      for (std::int64_t line = 0; line < range.lines && range.rows > 0; ++line) {
        __builtin_prefetch(range.row + range.next, 0, 2);
        range.next += 16;
        if (range.next < range.length) continue;
        range.next = 0;
        range.row += range.stride;
        --range.rows;
      }
    }
  }

 private:
  struct Range {
    const float* row;
    std::int64_t rows, stride, length, next, lines;  // lines: with every strip
  };
  void add(const float* first, std::int64_t rows, std::int64_t stride, std::int64_t length) {
    const std::int64_t lines = rows * divide_up(length, 16);
    if (length > 0)
      ranges_[count_++] = {first, rows, stride, length, 0, divide_up(lines, std::max<std::int64_t>(1, strips_))};
  }

  std::int64_t strips_ = 0;
  Range ranges_[5];  // NOLINT(modernize-avoid-c-arrays)
  int count_ = 0;
};

// One vector of units of one sample; adds dG to the sums of the biases.
template <class Cell, class At>
HWY_INLINE void differentiate_cell(const RecurrentProblem& p, const BackwardPlan& plan, const BackwardTile& tile,
                                   std::int64_t step, std::int64_t row, std::int64_t unit, At at) {
  const std::int64_t of_state = (step * p.batch + row) * p.hidden + unit;
  const float* activations = tile.activations + (step * p.batch + row) * p.gates * p.hidden + unit;
  FloatVector saved[4];  // NOLINT(modernize-avoid-c-arrays): vectors in registers
  HWY_UNROLL(3)
  for (int block = 0; block < 3; ++block) saved[block] = at.load(activations + block * p.hidden);
  saved[3] = at.load(p.gates == 4 ? activations + 3 * p.hidden : tile.product + of_state);
  const FloatVector state = at.load(tile.states + of_state);
  const FloatVector before = step == 0 ? splat(0.0F) : at.load(tile.states + of_state - p.batch * p.hidden);
  FloatVector dh = Whole{}.load(tile.dhidden + row * plan.hidden_stride + unit);
  if (!p.last) {
    dh = hn::Add(dh, at.load(tile.dy + row * p.y_stride() + step * p.hidden + unit));
  } else if (step == p.steps - 1) {
    dh = hn::Add(dh, at.load(tile.dy + row * p.y_stride() + unit));
  }
  float* carry = tile.carry + row * p.padded + unit;
  const CellGradient cell = Cell::gradient(saved, state, before, dh, Whole{}.load(carry));
  float* gates = tile.gates + row * plan.gate_stride + unit;
  float* biases = tile.sums + p.inner() * p.columns() + unit;
  HWY_UNROLL(4)
  for (int block = 0; block < 4; ++block) {
    Whole{}.store(cell.block[block], gates + block * p.padded);
    Whole{}.store(hn::Add(Whole{}.load(biases + block * p.padded), cell.block[block]), biases + block * p.padded);
  }
  Whole{}.store(cell.carry, carry);
  Whole{}.store(cell.hidden, tile.inner + row * plan.inner_stride + p.features + unit);
}

template <class Cell>
HWY_NOINLINE void differentiate_cells(const BackwardPlan& plan, const BackwardTile& tile, std::int64_t step) {
  const std::int64_t whole = plan.p.hidden / kLanes * kLanes, left = plan.p.hidden - whole;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    for (std::int64_t unit = 0; unit < whole; unit += kLanes) {
      differentiate_cell<Cell>(plan.p, plan, tile, step, row, unit, Whole{});
    }
    if (left > 0) differentiate_cell<Cell>(plan.p, plan, tile, step, row, whole, First{left});
  }
}

// sums [inner, columns] += [x h]^T dG of the step after, over the samples; `inner` rows of them.
void add_weight_gradient(const BackwardPlan& plan, const BackwardTile& tile, std::int64_t inner,
                         Prefetcher& prefetcher) {
  const std::int64_t columns = plan.p.columns();
  for (std::int64_t column = 0; column < columns; column += kPanelColumns) {
    for_each_strip(inner, [&](auto rows, std::int64_t row) HWY_ATTR {
      constexpr int kRows = decltype(rows)::value;
      FloatVector sums[kRows][kPanelVectors];  // NOLINT(modernize-avoid-c-arrays): vectors in registers
      prefetcher.run();
      set_zero(sums);
      add_products(sums, tile.rows, {tile.inner + row, 1, plan.inner_stride}, tile.other_gates + column,
                   plan.gate_stride);
      store_sums(sums, tile.sums + row * columns + column, columns, kPanelColumns, true);
    });
  }
}

// c [rows, columns] = dG times a panel.
void multiply_panel(const BackwardPlan& plan, const BackwardTile& tile, const float* panel, std::int64_t columns,
                    float* c, std::int64_t c_stride, Prefetcher& prefetcher) {
  for (std::int64_t first = 0; first < plan.p.columns(); first += kDepth) {
    const std::int64_t depth = std::min(kDepth, plan.p.columns() - first);
    for_each_strip(tile.rows, [&](auto rows, std::int64_t row) HWY_ATTR {
      constexpr int kRows = decltype(rows)::value;
      FloatVector sums[kRows][kPanelVectors];  // NOLINT(modernize-avoid-c-arrays): vectors in registers
      prefetcher.run();
      set_zero(sums);
      add_products(sums, depth, {tile.gates + row * plan.gate_stride + first, plan.gate_stride, 1},
                   panel + first * kPanelColumns, kPanelColumns);
      store_sums(sums, c + row * c_stride, c_stride, columns, first > 0);
    });
  }
}

void multiply_gates(const BackwardPlan& plan, const BackwardTile& tile, std::int64_t step, Prefetcher& prefetcher) {
  const RecurrentProblem& p = plan.p;
  for (std::int64_t number = step > 0 ? 0 : plan.hidden_panels; number < plan.panels(); ++number) {
    const float* panel = tile.panels + number * plan.panel;
    if (number < plan.hidden_panels) {
      multiply_panel(plan, tile, panel, kPanelColumns, tile.dhidden + number * kPanelColumns, plan.hidden_stride,
                     prefetcher);
    } else {
      const std::int64_t first = (number - plan.hidden_panels) * kPanelColumns;
      multiply_panel(plan, tile, panel, std::min(kPanelColumns, p.features - first),
                     tile.dx + step * p.features + first, p.steps * p.features, prefetcher);
    }
  }
}

template <class Cell>
void run_steps(const BackwardPlan& plan, BackwardTile tile) {
  const RecurrentProblem& p = plan.p;
  std::fill(tile.sums, tile.sums + (p.inner() + 1) * p.columns(), 0.0F);
  std::fill(tile.dhidden, tile.dhidden + tile.rows * plan.hidden_stride, 0.0F);
  std::fill(tile.carry, tile.carry + tile.rows * p.padded, 0.0F);
  for (std::int64_t step = p.steps - 1; step >= 0; --step) {
    differentiate_cells<Cell>(plan, tile, step);
    Prefetcher prefetcher(plan, tile, step);
    if (step < p.steps - 1) add_weight_gradient(plan, tile, p.inner(), prefetcher);
    multiply_gates(plan, tile, step, prefetcher);
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const float* x = tile.x + (row * p.steps + step) * p.features;
      std::copy(x, x + p.features, tile.inner + row * plan.inner_stride);
    }
    std::swap(tile.gates, tile.other_gates);
  }
  Prefetcher nothing(plan, tile, 0);
  add_weight_gradient(plan, tile, p.features, nothing);  // h is zero before the first step
}

void BackwardSteps(const BackwardPlan& plan, const BackwardTile& tile) {
  if (plan.p.cell == graph::Cell::kLstm) {
    run_steps<LstmCell>(plan, tile);
  } else {
    run_steps<GruCell>(plan, tile);
  }
}

// The sums of all tiles for kPanelColumns columns from `first` on, into those of the first tile, then transposed into
// rows of the weights' gradients.
void AddTiles(const BackwardPlan& plan, float* sums, std::int64_t first, const KernelArgs& args) {
  const RecurrentProblem& p = plan.p;
  const std::int64_t rows = p.inner() + 1, stride = p.columns();
  for (std::int64_t row = 0; row < rows; ++row) {
    float* total = sums + row * stride + first;
    if (plan.tiles.tiles() == 0) std::fill(total, total + kPanelColumns, 0.0F);
    for (std::int64_t tile = 1; tile < plan.tiles.tiles(); ++tile) {
      const float* more = total + tile * plan.sums;
      HWY_UNROLL(4)
      for (std::int64_t j = 0; j < kPanelColumns; j += kLanes) {
        Whole{}.store(hn::Add(Whole{}.load(total + j), Whole{}.load(more + j)), total + j);
      }
    }
  }
  for (std::int64_t column = first; column < first + kPanelColumns; ++column) {
    const std::int64_t unit = column % p.padded;
    const auto block = static_cast<std::size_t>(column / p.padded);
    if (unit >= p.hidden) continue;
    const auto put = [&](int rows_of, std::size_t weight, std::size_t bias, std::int64_t k, std::int64_t from) {
      if (rows_of < 0) return;
      const std::int64_t row = rows_of * p.hidden + unit;
      float* to = output(args, weight) + row * k;
      for (std::int64_t i = 0; i < k; ++i) to[i] = sums[(from + i) * stride + column];
      output(args, bias)[row] = sums[p.inner() * stride + column];
    };
    put(p.input_block()[block], 0, 2, p.features, 0);
    put(p.hidden_block()[block], 1, 3, p.hidden, p.features);
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {

HWY_EXPORT(PackBackward);
HWY_EXPORT(BackwardSteps);
HWY_EXPORT(AddTiles);

namespace {

BackwardTile tile_of(const BackwardPlan& plan, std::int64_t tile, const KernelArgs& args) {
  const RecurrentProblem& p = plan.p;
  const std::int64_t first = plan.tiles.begin(tile), size = plan.tiles.size;
  BackwardTile result = {};
  result.dy = input(args, 0) + first * p.y_stride();
  result.x = input(args, 1) + first * p.steps * p.features;
  result.activations = input(args, 4) + first * p.gates * p.hidden;
  result.states = input(args, 5) + first * p.hidden;
  result.product = p.gates == 4 ? nullptr : input(args, 6) + first * p.hidden;
  result.panels = scratch(args);
  result.dx = plan.input_gradient ? output(args, 4) + first * p.steps * p.features : nullptr;
  result.sums = scratch(args) + plan.first_sums() + tile * plan.sums;
  result.gates = scratch(args) + plan.first_scratch() + tile * plan.scratch;
  result.other_gates = result.gates + size * plan.gate_stride;
  result.inner = result.other_gates + size * plan.gate_stride;
  result.dhidden = result.inner + size * plan.inner_stride;
  result.carry = result.dhidden + size * plan.hidden_stride;
  result.rows = plan.tiles.length(tile);
  return result;
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_recurrent_grad(const KernelRequest& request) {
  const auto attributes = graph::RecurrentGradAttributes::from(request.attributes);
  const BackwardPlan plan(
      RecurrentProblem(attributes.cell, attributes.last, request.inputs[1].shape, request.inputs[3].shape),
      attributes.input_gradient);
  // Room for the sums of one tile even where there is none.
  const Bytes workspace(4 * std::max(plan.floats(), plan.first_sums() + plan.sums));
  return tile_kernel({plan.panels(), plan.tiles.tiles(), plan.p.unit_vectors()}, workspace,
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       if (stage == 0) {
                         HWY_DYNAMIC_DISPATCH(PackBackward)
                         (plan, tile, input(args, 2), input(args, 3), scratch(args) + tile * plan.panel);
                       } else if (stage == 1) {
                         HWY_DYNAMIC_DISPATCH(BackwardSteps)(plan, tile_of(plan, tile, args));
                       } else {
                         HWY_DYNAMIC_DISPATCH(AddTiles)
                         (plan, scratch(args) + plan.first_sums(), tile * plan.panel_columns, args);
                       }
                     });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
