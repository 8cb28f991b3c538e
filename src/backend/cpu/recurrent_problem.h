// What the kernels of recurrent layers share: sizes, tiles, and where things lie.
//
// Vocabulary. A *unit* is one element of the hidden state. A *column* is one unit of one of four *blocks*: i, f, g, o
// of an LSTM; r, z, u_n, v_n of a GRU, whose n gate takes the products with x and with h apart (a quarter of its
// weights is zero). A *tile* is some samples, which run through all steps on one thread: samples do not wait for each
// other. `padded` is hidden, up to a whole vector.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "backend/cpu/tile_kernel.h"
#include "graph/ops/recurrent.h"

namespace headway::backend {

inline constexpr std::int64_t kBlocks = 4;

// Floats of a vector in the instruction set that is used.
std::int64_t recurrent_lanes();

struct RecurrentProblem {
  graph::Cell cell = graph::Cell::kLstm;
  bool last = false;
  std::int64_t batch = 0, steps = 0, features = 0, hidden = 0, gates = 0, lanes = 0, padded = 0;

  RecurrentProblem(graph::Cell which, bool only_last, const Shape& x, const Shape& w_hh)
      : cell(which), last(only_last), gates(graph::gates_of(which)), lanes(recurrent_lanes()) {
    const graph::RecurrentSizes sizes = graph::recurrent_sizes(x, w_hh);
    batch = sizes.batch;
    steps = sizes.steps;
    features = sizes.features;
    hidden = sizes.hidden;
    padded = divide_up(hidden, lanes) * lanes;
  }

  std::int64_t inner() const { return features + hidden; }  // of the products of the forward pass
  std::int64_t columns() const { return kBlocks * padded; }
  std::int64_t unit_vectors() const { return padded / lanes; }
  std::int64_t y_stride() const { return last ? hidden : steps * hidden; }  // from sample to sample

  // The block of rows of w_ih and of w_hh that belongs to each block of columns; -1: none.
  std::array<int, kBlocks> input_block() const {
    return cell == graph::Cell::kLstm ? std::array{0, 1, 2, 3} : std::array{0, 1, 2, -1};
  }
  std::array<int, kBlocks> hidden_block() const {
    return cell == graph::Cell::kLstm ? std::array{0, 1, 2, 3} : std::array{0, 1, -1, 2};
  }

  // Tiles: a power of two of them up to 16, then multiples of 16, so that they divide evenly among the usual numbers of
  // threads; 12 samples at least (two strips of rows), for which a panel of weights is read into the L1 cache, and 64
  // at most, so that a step of a tile stays in the L2 cache.
  Grid tiles() const {
    std::int64_t count = 1;
    while (count < 16 && batch >= 24 * count) count *= 2;
    if (batch > 64 * count) count = divide_up(batch, std::int64_t{16 * 64}) * 16;
    return {batch, std::max<std::int64_t>(1, divide_up(batch, count))};
  }
};

// Floats up to a whole cache line.
constexpr std::int64_t whole_lines(std::int64_t floats) {
  return divide_up(floats, 16) * 16;
}

}  // namespace headway::backend
