// The cells of recurrent layers, for a vector of units of one sample; included once for each instruction set.
//
// The sigmoid is (1 + tanh(x / 2)) / 2: bounded, no exp. Packed weights of sigmoid gates are halved, so that x / 2
// comes out of the product. Three or four tanh share one division: 1 / a = b c d / (a b c d), safe because the
// denominators of tanh lie between 0.0048 and 0.91.
#if defined(HEADWAY_RECURRENT_CELLS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWAY_RECURRENT_CELLS_INL_H
#undef HEADWAY_RECURRENT_CELLS_INL_H
#else
#define HEADWAY_RECURRENT_CELLS_INL_H
#endif

#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {

HWY_INLINE FloatVector sigmoid_from_tanh(FloatVector tanh_of_half) {
  return hn::MulAdd(splat(0.5F), tanh_of_half, splat(0.5F));
}
// x (1 - x) and 1 - x^2: the derivatives of sigmoid and tanh from their values.
HWY_INLINE FloatVector sigmoid_slope(FloatVector value) {
  return hn::NegMulAdd(value, value, value);
}
HWY_INLINE FloatVector tanh_slope(FloatVector value) {
  return hn::NegMulAdd(value, value, splat(1.0F));
}

// What a cell makes of its four sums, and what it takes and gives in the gradient (graph/ops/recurrent.h).
struct CellValues {
  FloatVector block[4];  // NOLINT(modernize-avoid-c-arrays): vectors in registers
  FloatVector state, hidden;
};
struct CellGradient {
  FloatVector block[4];  // NOLINT(modernize-avoid-c-arrays)
  FloatVector carry;     // to the step before: at c of an LSTM, at h of a GRU
  FloatVector hidden;    // h_t
};

struct LstmCell {
  static HWY_INLINE CellValues values(const float* sums, FloatVector state_before) {
    const TanhRatio i = tanh_ratio(Whole{}.load(sums)), f = tanh_ratio(Whole{}.load(sums + kLanes));
    const TanhRatio g = tanh_ratio(Whole{}.load(sums + 2 * kLanes)), o = tanh_ratio(Whole{}.load(sums + 3 * kLanes));
    const FloatVector if_below = hn::Mul(i.below, f.below), go_below = hn::Mul(g.below, o.below);
    const FloatVector inverse = hn::Div(splat(1.0F), hn::Mul(if_below, go_below));
    const FloatVector of_if = hn::Mul(inverse, go_below), of_go = hn::Mul(inverse, if_below);
    CellValues cell;
    cell.block[0] = sigmoid_from_tanh(hn::Mul(i.above, hn::Mul(of_if, f.below)));
    cell.block[1] = sigmoid_from_tanh(hn::Mul(f.above, hn::Mul(of_if, i.below)));
    cell.block[2] = hn::Mul(g.above, hn::Mul(of_go, o.below));
    cell.block[3] = sigmoid_from_tanh(hn::Mul(o.above, hn::Mul(of_go, g.below)));
    cell.state = hn::MulAdd(cell.block[1], state_before, hn::Mul(cell.block[0], cell.block[2]));
    cell.hidden = hn::Mul(cell.block[3], tanh_of(cell.state));
    return cell;
  }

  // `saved` are the four activations.
  static HWY_INLINE CellGradient gradient(const FloatVector (&saved)[4], FloatVector state, FloatVector state_before,
                                          FloatVector dh, FloatVector carry) {
    const FloatVector i = saved[0], f = saved[1], g = saved[2], o = saved[3];
    const FloatVector bounded = tanh_of(state);
    const FloatVector dc = hn::MulAdd(hn::Mul(dh, o), tanh_slope(bounded), carry);
    CellGradient cell;
    cell.block[0] = hn::Mul(hn::Mul(dc, g), sigmoid_slope(i));
    cell.block[1] = hn::Mul(hn::Mul(dc, state_before), sigmoid_slope(f));
    cell.block[2] = hn::Mul(hn::Mul(dc, i), tanh_slope(g));
    cell.block[3] = hn::Mul(hn::Mul(dh, bounded), sigmoid_slope(o));
    cell.carry = hn::Mul(dc, f);
    cell.hidden = hn::Mul(o, bounded);
    return cell;
  }
};

struct GruCell {
  static HWY_INLINE CellValues values(const float* sums, FloatVector state_before) {
    const TanhRatio r = tanh_ratio(Whole{}.load(sums)), z = tanh_ratio(Whole{}.load(sums + kLanes));
    const FloatVector inverse = hn::Div(splat(1.0F), hn::Mul(r.below, z.below));
    CellValues cell;
    cell.block[0] = sigmoid_from_tanh(hn::Mul(r.above, hn::Mul(inverse, z.below)));
    cell.block[1] = sigmoid_from_tanh(hn::Mul(z.above, hn::Mul(inverse, r.below)));
    cell.block[3] = Whole{}.load(sums + 3 * kLanes);
    cell.block[2] = tanh_of(hn::MulAdd(cell.block[0], cell.block[3], Whole{}.load(sums + 2 * kLanes)));
    cell.hidden = hn::MulAdd(cell.block[1], hn::Sub(state_before, cell.block[2]), cell.block[2]);
    cell.state = cell.hidden;
    return cell;
  }

  // `saved` are r, z, n and the n block of v; the carry is the part of dh that came through z.
  static HWY_INLINE CellGradient gradient(const FloatVector (&saved)[4], FloatVector state, FloatVector state_before,
                                          FloatVector dh, FloatVector carry) {
    const FloatVector r = saved[0], z = saved[1], n = saved[2];
    dh = hn::Add(dh, carry);
    CellGradient cell;
    cell.block[2] = hn::Mul(hn::NegMulAdd(z, dh, dh), tanh_slope(n));
    cell.block[0] = hn::Mul(hn::Mul(cell.block[2], saved[3]), sigmoid_slope(r));
    cell.block[1] = hn::Mul(hn::Mul(dh, hn::Sub(state_before, n)), sigmoid_slope(z));
    cell.block[3] = hn::Mul(cell.block[2], r);
    cell.carry = hn::Mul(dh, z);
    cell.hidden = state;
    return cell;
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
