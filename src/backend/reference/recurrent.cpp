#include "graph/ops/recurrent.h"

#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

using graph::Cell;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// Where things stand in the operands of a node.
struct Layout {
  Cell cell;
  bool last;
  graph::RecurrentSizes sizes;
  std::int64_t gates;

  Layout(Cell which, bool only_last, const Shape& x, const Shape& w_hh)
      : cell(which), last(only_last), sizes(graph::recurrent_sizes(x, w_hh)), gates(graph::gates_of(which)) {}

  std::size_t row(std::int64_t gate, std::int64_t unit) const {
    return static_cast<std::size_t>(gate * sizes.hidden + unit);
  }
  std::size_t x(std::int64_t b, std::int64_t t, std::int64_t f) const {
    return static_cast<std::size_t>((b * sizes.steps + t) * sizes.features + f);
  }
  std::size_t y(std::int64_t b, std::int64_t t, std::int64_t unit) const {
    return static_cast<std::size_t>((last ? b : b * sizes.steps + t) * sizes.hidden + unit);
  }
  bool has_y(std::int64_t t) const { return !last || t == sizes.steps - 1; }
  std::size_t activation(std::int64_t t, std::int64_t b, std::int64_t gate, std::int64_t unit) const {
    return static_cast<std::size_t>(((t * sizes.batch + b) * gates + gate) * sizes.hidden + unit);
  }
  std::size_t state(std::int64_t t, std::int64_t b, std::int64_t unit) const {
    return static_cast<std::size_t>((t * sizes.batch + b) * sizes.hidden + unit);
  }
};

// One step of one sample; `hidden` and `cells` are those of the step before, and change.
void run_step(const Layout& at, const Call& call, std::int64_t b, std::int64_t t, Tensor& hidden, Tensor& cells) {
  const std::int64_t h = at.sizes.hidden;
  Tensor u(static_cast<std::size_t>(at.gates * h)), v(u.size());
  for (std::size_t row = 0; row < u.size(); ++row) {
    u[row] = call.inputs[3][row];
    v[row] = call.inputs[4][row];
    for (std::int64_t f = 0; f < at.sizes.features; ++f) {
      u[row] += call.inputs[1][row * static_cast<std::size_t>(at.sizes.features) + static_cast<std::size_t>(f)] *
                call.inputs[0][at.x(b, t, f)];
    }
    for (std::size_t unit = 0; unit < hidden.size(); ++unit) {
      v[row] += call.inputs[2][row * hidden.size() + unit] * hidden[unit];
    }
  }
  for (std::int64_t unit = 0; unit < h; ++unit) {
    const auto sum = [&](std::int64_t gate) { return u[at.row(gate, unit)] + v[at.row(gate, unit)]; };
    const auto keep = [&](std::int64_t gate, double value) {
      call.outputs[1][at.activation(t, b, gate, unit)] = value;
      return value;
    };
    double& state = hidden[static_cast<std::size_t>(unit)];
    if (at.cell == Cell::kLstm) {
      const double i = keep(0, sigmoid(sum(0))), f = keep(1, sigmoid(sum(1)));
      const double g = keep(2, std::tanh(sum(2))), o = keep(3, sigmoid(sum(3)));
      double& c = cells[static_cast<std::size_t>(unit)];
      c = f * c + i * g;
      state = o * std::tanh(c);
      call.outputs[2][at.state(t, b, unit)] = c;
    } else {
      const double r = keep(0, sigmoid(sum(0))), z = keep(1, sigmoid(sum(1)));
      const double n = keep(2, std::tanh(u[at.row(2, unit)] + r * v[at.row(2, unit)]));
      call.outputs[3][at.state(t, b, unit)] = v[at.row(2, unit)];
      state = (1 - z) * n + z * state;
      call.outputs[2][at.state(t, b, unit)] = state;
    }
    if (at.has_y(t)) call.outputs[0][at.y(b, t, unit)] = state;
  }
}

// The gradients at u and v of one step of one sample, from that at h_t. `carry` is the gradient at the state that does
// not pass through the products: c_t of an LSTM; on return that of the step before.
void differentiate_cell(const Layout& at, const Call& call, std::int64_t b, std::int64_t t, const Tensor& dhidden,
                        Tensor& carry, Tensor& du, Tensor& dv) {
  const Tensor& states = call.inputs[5];
  for (std::int64_t unit = 0; unit < at.sizes.hidden; ++unit) {
    const auto activation = [&](std::int64_t gate) { return call.inputs[4][at.activation(t, b, gate, unit)]; };
    const auto put = [&](std::int64_t gate, double of_u, double of_v) {
      du[at.row(gate, unit)] = of_u;
      dv[at.row(gate, unit)] = of_v;
    };
    const double before = t == 0 ? 0 : states[at.state(t - 1, b, unit)];
    const double dh = dhidden[static_cast<std::size_t>(unit)];
    double& passed = carry[static_cast<std::size_t>(unit)];
    if (at.cell == Cell::kLstm) {
      const double i = activation(0), f = activation(1), g = activation(2), o = activation(3);
      const double bounded = std::tanh(states[at.state(t, b, unit)]);
      const double dc = passed + dh * o * (1 - bounded * bounded);
      const double di = dc * g * i * (1 - i), df = dc * before * f * (1 - f);
      const double dg = dc * i * (1 - g * g), dout = dh * bounded * o * (1 - o);
      put(0, di, di);
      put(1, df, df);
      put(2, dg, dg);
      put(3, dout, dout);
      passed = dc * f;
    } else {
      const double r = activation(0), z = activation(1), n = activation(2);
      const double dn = dh * (1 - z) * (1 - n * n);
      const double dr = dn * call.inputs[6][at.state(t, b, unit)] * r * (1 - r), dz = dh * (before - n) * z * (1 - z);
      put(0, dr, dr);
      put(1, dz, dz);
      put(2, dn, dn * r);
      passed = dh * z;
    }
  }
}

// h_(t-1) of one sample.
Tensor hidden_before(const Layout& at, const Call& call, std::int64_t b, std::int64_t t) {
  Tensor hidden(static_cast<std::size_t>(at.sizes.hidden));
  for (std::int64_t unit = 0; t > 0 && unit < at.sizes.hidden; ++unit) {
    const double state = call.inputs[5][at.state(t - 1, b, unit)];
    hidden[static_cast<std::size_t>(unit)] =
        at.cell == Cell::kGru ? state : call.inputs[4][at.activation(t - 1, b, 3, unit)] * std::tanh(state);
  }
  return hidden;
}

// Adds one step of one sample to all gradients; `dhidden` becomes what the products give to h_(t-1).
void add_step(const Layout& at, const Call& call, std::int64_t b, std::int64_t t, const Tensor& du, const Tensor& dv,
              Tensor& dhidden) {
  const Tensor before = hidden_before(at, call, b, t);
  const auto features = static_cast<std::size_t>(at.sizes.features);
  dhidden.assign(dhidden.size(), 0);
  for (std::size_t row = 0; row < du.size(); ++row) {
    for (std::size_t f = 0; f < features; ++f) {
      const std::size_t of_x = at.x(b, t, static_cast<std::int64_t>(f));
      call.outputs[0][row * features + f] += du[row] * call.inputs[1][of_x];
      if (call.outputs.size() > 4) call.outputs[4][of_x] += du[row] * call.inputs[2][row * features + f];
    }
    for (std::size_t unit = 0; unit < before.size(); ++unit) {
      call.outputs[1][row * before.size() + unit] += dv[row] * before[unit];
      dhidden[unit] += dv[row] * call.inputs[3][row * before.size() + unit];
    }
    call.outputs[2][row] += du[row];
    call.outputs[3][row] += dv[row];
  }
}

}  // namespace

void recurrent(const Call& call) {
  const auto attributes = graph::RecurrentAttributes::from(call.attributes);
  const Layout at(attributes.cell, attributes.last, call.in_shape(0), call.in_shape(2));
  for (std::int64_t b = 0; b < at.sizes.batch; ++b) {
    Tensor hidden(static_cast<std::size_t>(at.sizes.hidden)), cells = hidden;
    for (std::int64_t t = 0; t < at.sizes.steps; ++t) run_step(at, call, b, t, hidden, cells);
  }
}

void recurrent_grad(const Call& call) {
  const auto attributes = graph::RecurrentGradAttributes::from(call.attributes);
  const Layout at(attributes.cell, attributes.last, call.in_shape(1), call.in_shape(3));
  for (std::int64_t b = 0; b < at.sizes.batch; ++b) {
    Tensor dhidden(static_cast<std::size_t>(at.sizes.hidden)), carry = dhidden;
    Tensor du(static_cast<std::size_t>(at.gates * at.sizes.hidden)), dv = du;
    for (std::int64_t t = at.sizes.steps - 1; t >= 0; --t) {
      for (std::int64_t unit = 0; unit < at.sizes.hidden; ++unit) {
        if (at.has_y(t)) dhidden[static_cast<std::size_t>(unit)] += call.inputs[0][at.y(b, t, unit)];
        if (at.cell == Cell::kGru) dhidden[static_cast<std::size_t>(unit)] += carry[static_cast<std::size_t>(unit)];
      }
      differentiate_cell(at, call, b, t, dhidden, carry, du, dv);
      add_step(at, call, b, t, du, dv, dhidden);
    }
  }
}

}  // namespace headway::backend::reference
