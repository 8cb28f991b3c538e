// Recurrent layers over a whole sequence: LSTM (Hochreiter & Schmidhuber 1997, with Gers' forget gate) and GRU (Cho et
// al. 2014, in the form of cuDNN and PyTorch, whose reset gate acts after the product with the hidden state).
#pragma once

#include "graph/graph.h"

namespace headway::graph {

enum class Cell : std::uint8_t { kLstm, kGru };
std::string_view name_of(Cell cell);
Cell cell_from_name(const std::string& name);

// Blocks of weights: i, f, g, o for an LSTM; r, z, n for a GRU.
std::int64_t gates_of(Cell cell);

// recurrent. Inputs x [batch, steps, f], w_ih [gates h, f], w_hh [gates h, h], b_ih and b_hh [gates h], all as PyTorch
// has them. With u = w_ih x_t + b_ih, v = w_hh h_(t-1) + b_hh, h and c zero at first, * element-wise:
//   LSTM  i, f, o = sigmoid(u + v), g = tanh(u + v);  c_t = f * c_(t-1) + i * g,  h_t = o * tanh(c_t)
//   GRU   r, z = sigmoid(u + v), n = tanh(u + r * v);  h_t = (1 - z) * n + z * h_(t-1)
// Outputs y [batch, steps, h] - all h_t - or, with `last`, the last of them [batch, h]; and for the gradient
// activations [steps, batch, gates h], states [steps, batch, h] - c_t, or h_t - and of a GRU the n block of v
// [steps, batch, h]. These have their steps in front: a step of some samples is one piece of memory.
struct RecurrentAttributes {
  Cell cell = Cell::kLstm;
  bool last = false;
  static RecurrentAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
struct RecurrentWeights {
  ValueId w_ih = kNoValue, w_hh = kNoValue, b_ih = kNoValue, b_hh = kNoValue;
};
const Op& recurrent_op();
ValueId recurrent(Graph& graph, ValueId x, RecurrentWeights weights, RecurrentAttributes attributes);

// recurrent_grad. Inputs dy, x, w_ih, w_hh, activations, states and of a GRU the n block of v; outputs dw_ih, dw_hh,
// db_ih, db_hh and, with input_gradient, dx.
struct RecurrentGradAttributes {
  Cell cell = Cell::kLstm;
  bool last = false;
  bool input_gradient = true;
  static RecurrentGradAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& recurrent_grad_op();

// The sizes of a node, for kernels and costs; from the shapes of x and w_hh.
struct RecurrentSizes {
  std::int64_t batch = 0, steps = 0, features = 0, hidden = 0;
};
RecurrentSizes recurrent_sizes(const Shape& x, const Shape& w_hh);

}  // namespace headway::graph
