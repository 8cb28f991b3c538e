// Vector forms of exp, erf, tanh and the activations; included once for each instruction set (Highway's -inl.h form).
//
// Bounds, checked over a dense sweep by vector_math_test.cpp: exp 1.5 ulp (results under 2^-125.5 are 0), erf and tanh
// 4e-7 absolute.
// Sources: exp: S. Moshier, Cephes, expf.c; erf, tanh: the odd rational minimax approximations of Eigen and XLA.
#if defined(HEADWAY_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWAY_VECTOR_MATH_INL_H
#undef HEADWAY_VECTOR_MATH_INL_H
#else
#define HEADWAY_VECTOR_MATH_INL_H
#endif

#include "backend/cpu/vector_rows-inl.h"
#include "graph/ops/activation.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {

// exp. x = n ln 2 + r with n the nearest whole number, so |r| <= ln(2) / 2; exp(x) = 2^n exp(r).
// Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits, from where a shift makes it the exponent:
// of 2^(n-1), so that n = 128 still fits; the last addition doubles.
HWY_INLINE FloatVector exp_of(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  // x last: x86 gives the second operand when one is NaN.
  x = hn::Min(splat(89.0F), hn::Max(splat(-87.5F), x));
  const FloatVector magic = splat(12582912.0F + 126.0F);
  const FloatVector shifted = hn::MulAdd(x, splat(1.44269504F), magic);
  const FloatVector n = hn::Sub(shifted, magic);
  FloatVector r = hn::NegMulAdd(n, splat(0.693359375F), x);
  r = hn::NegMulAdd(n, splat(-2.12194440e-4F), r);
  FloatVector p = splat(1.9875691500e-4F);
  p = hn::MulAdd(p, r, splat(1.3981999507e-3F));
  p = hn::MulAdd(p, r, splat(8.3334519073e-3F));
  p = hn::MulAdd(p, r, splat(4.1665795894e-2F));
  p = hn::MulAdd(p, r, splat(1.6666665459e-1F));
  p = hn::MulAdd(p, r, splat(5.0000001201e-1F));
  p = hn::MulAdd(p, hn::Mul(r, r), r);
  p = hn::Add(p, splat(1.0F));
  const FloatVector half = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const FloatVector result = hn::Mul(p, half);
  return hn::Add(result, result);
}

// erf(x) = x P(x^2) / Q(x^2) on [-4, 4], where f32 has reached +-1.
HWY_INLINE FloatVector erf_of(FloatVector x) {
  x = hn::Min(splat(4.0F), hn::Max(splat(-4.0F), x));
  const FloatVector s = hn::Mul(x, x);
  FloatVector p = splat(-2.72614225801306e-10F);
  p = hn::MulAdd(p, s, splat(2.77068142495902e-08F));
  p = hn::MulAdd(p, s, splat(-2.10102402082508e-06F));
  p = hn::MulAdd(p, s, splat(-5.69250639462346e-05F));
  p = hn::MulAdd(p, s, splat(-7.34990630326855e-04F));
  p = hn::MulAdd(p, s, splat(-2.95459980854025e-03F));
  p = hn::MulAdd(p, s, splat(-1.60960333262415e-02F));
  FloatVector q = splat(-1.45660718464996e-05F);
  q = hn::MulAdd(q, s, splat(-2.13374055278905e-04F));
  q = hn::MulAdd(q, s, splat(-1.68282697438203e-03F));
  q = hn::MulAdd(q, s, splat(-7.37332916720468e-03F));
  q = hn::MulAdd(q, s, splat(-1.42647390514189e-02F));
  return hn::Div(hn::Mul(x, p), q);
}

// Activations as value types: `value` of x; `gradient` is dy times the derivative, from what the op keeps (the input;
// for ReLU the output, though the input has the same sign).
struct Identity {
  static HWY_INLINE FloatVector value(FloatVector x) { return x; }
  static HWY_INLINE FloatVector gradient(FloatVector /*saved*/, FloatVector dy) { return dy; }
};

struct Relu {
  // x second: x86 gives it back when it is NaN.
  static HWY_INLINE FloatVector value(FloatVector x) { return hn::Max(splat(0.0F), x); }
  static HWY_INLINE FloatVector gradient(FloatVector saved, FloatVector dy) {
    return hn::IfThenZeroElse(hn::Le(saved, splat(0.0F)), dy);  // NaN passes dy, as in PyTorch
  }
};

// x (1 + erf(x / sqrt 2)) / 2; derivative Phi(x) + x phi(x).
struct GeluErf {
  static HWY_INLINE FloatVector value(FloatVector x) {
    const FloatVector half = hn::Mul(x, splat(0.5F));
    return hn::MulAdd(half, erf_of(hn::Mul(x, splat(0.707106781F))), half);
  }
  static HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) {
    const FloatVector cdf = hn::MulAdd(erf_of(hn::Mul(x, splat(0.707106781F))), splat(0.5F), splat(0.5F));
    const FloatVector density = hn::Mul(exp_of(hn::Mul(hn::Mul(x, x), splat(-0.5F))), splat(0.398942280F));
    return hn::Mul(dy, hn::MulAdd(x, density, cdf));
  }
};

// x (1 + tanh u) / 2 = x sigmoid(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3): one exp, and no cancellation.
struct GeluTanh {
  static HWY_INLINE FloatVector sigmoid_2u(FloatVector x, FloatVector square) {
    const FloatVector inner = hn::MulAdd(square, splat(-2.0F * 0.797884561F * 0.044715F), splat(-2.0F * 0.797884561F));
    return hn::Div(splat(1.0F), hn::Add(splat(1.0F), exp_of(hn::Mul(x, inner))));
  }
  static HWY_INLINE FloatVector value(FloatVector x) { return hn::Mul(x, sigmoid_2u(x, hn::Mul(x, x))); }
  static HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) {
    const FloatVector square = hn::Mul(x, x);
    const FloatVector s = sigmoid_2u(x, square);
    const FloatVector slope = hn::MulAdd(square, splat(6.0F * 0.797884561F * 0.044715F), splat(2.0F * 0.797884561F));
    const FloatVector bell = hn::NegMulAdd(s, s, s);  // s (1 - s)
    return hn::Mul(dy, hn::MulAdd(hn::Mul(x, slope), bell, s));
  }
};

// Calls body with the value type of `kind`.
template <class Body>
HWY_INLINE void with_activation(graph::Activation kind, const Body& body) {
  switch (kind) {
    case graph::Activation::kNone:
      return body(Identity());
    case graph::Activation::kRelu:
      return body(Relu());
    case graph::Activation::kGeluErf:
      return body(GeluErf());
    case graph::Activation::kGeluTanh:
      return body(GeluTanh());
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
