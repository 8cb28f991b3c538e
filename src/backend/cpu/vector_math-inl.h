// Vector forms of exp, erf, tanh and the activations; included once for each instruction set (Highway's -inl.h form).
//
// Bounds, held by vector_math_test.cpp over dense sweeps of all arguments:
//   exp    2 ulp; results under 2^-125.5 are 0           S. Moshier, Cephes, expf.c
//   tail   6e-8 absolute (of the normal distribution)    weighted minimax fit of our own, see tail_of
//   erf    1.2e-7 absolute                               from the tail
//   tanh   8 ulp                                         the rational approximation of Eigen and XLA
//   sigmoid, silu   4 ulp; results under 2^-121 are 0    from exp
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

// exp(x) / 2 for -87.5 <= x <= 89. x = n ln 2 + r with n the nearest whole number, so |r| <= ln(2) / 2;
// exp(x) = 2^n exp(r). Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits, from where a shift
// makes it the exponent: of 2^(n-1), so that n = 128 still fits.
HWY_INLINE FloatVector half_exp_in_range(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
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
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

// In Max and Min x is the second operand, which x86 gives back when one is NaN.
HWY_INLINE FloatVector exp_of(FloatVector x) {
  const FloatVector half = half_exp_in_range(hn::Min(splat(89.0F), hn::Max(splat(-87.5F), x)));
  return hn::Add(half, half);
}

// exp(x) / 2 for x <= 0.
HWY_INLINE FloatVector half_exp_of_negative(FloatVector x) {
  return half_exp_in_range(hn::Max(splat(-87.5F), x));
}

// The upper tail of the normal distribution, 1 - Phi(x) for x >= 0, as exp(-x q(x)) / 2: no cancellation and no
// division. q(x) = -ln(2 (1 - Phi(x))) / x has no singularity; its polynomial was fitted on [0, 6.5] by iteratively
// reweighted least squares (Lawson 1961) at 500 Chebyshev points in f64 against 40-digit values, to 2e-9 of Phi. Its
// leading coefficient is positive, so beyond that range, where the tail is under 1e-10, it falls to 0 only the faster.
HWY_INLINE FloatVector tail_of(FloatVector x) {
  FloatVector minus_q = splat(-2.157509904e-08F);
  minus_q = hn::MulAdd(minus_q, x, splat(6.400042594e-07F));
  minus_q = hn::MulAdd(minus_q, x, splat(-8.085014997e-06F));
  minus_q = hn::MulAdd(minus_q, x, splat(5.559430792e-05F));
  minus_q = hn::MulAdd(minus_q, x, splat(-2.013277699e-04F));
  minus_q = hn::MulAdd(minus_q, x, splat(1.147902549e-05F));
  minus_q = hn::MulAdd(minus_q, x, splat(4.806560930e-03F));
  minus_q = hn::MulAdd(minus_q, x, splat(-3.634714708e-02F));
  minus_q = hn::MulAdd(minus_q, x, splat(-3.183074296e-01F));
  minus_q = hn::MulAdd(minus_q, x, splat(-7.978847622e-01F));
  return half_exp_of_negative(hn::Mul(minus_q, x));
}

// The normal distribution Phi(x).
HWY_INLINE FloatVector normal_of(FloatVector x) {
  const FloatVector tail = tail_of(hn::Abs(x));
  return hn::IfThenElse(hn::Lt(x, splat(0.0F)), tail, hn::Sub(splat(1.0F), tail));
}

// erf(x) = sign(x) (1 - 2 tail(|x| sqrt 2)).
HWY_INLINE FloatVector erf_of(FloatVector x) {
  const FloatVector tail = tail_of(hn::Mul(hn::Abs(x), splat(1.414213562F)));
  return hn::CopySign(hn::NegMulAdd(splat(2.0F), tail, splat(1.0F)), x);
}

// tanh(x) = x P(x^2) / Q(x^2), clamped where f32 has reached +-1; not yet divided, so that several can share a
// division.
struct TanhRatio {
  FloatVector above, below;
};

HWY_INLINE TanhRatio tanh_ratio(FloatVector x) {
  x = hn::Min(splat(7.90531111F), hn::Max(splat(-7.90531111F), x));
  const FloatVector s = hn::Mul(x, x);
  FloatVector p = splat(-2.76076847742355e-16F);
  p = hn::MulAdd(p, s, splat(2.00018790482477e-13F));
  p = hn::MulAdd(p, s, splat(-8.60467152213735e-11F));
  p = hn::MulAdd(p, s, splat(5.12229709037114e-08F));
  p = hn::MulAdd(p, s, splat(1.48572235717979e-05F));
  p = hn::MulAdd(p, s, splat(6.37261928875436e-04F));
  p = hn::MulAdd(p, s, splat(4.89352455891786e-03F));
  FloatVector q = splat(1.19825839466702e-06F);
  q = hn::MulAdd(q, s, splat(1.18534705686654e-04F));
  q = hn::MulAdd(q, s, splat(2.26843463243900e-03F));
  q = hn::MulAdd(q, s, splat(4.89352518554385e-03F));
  return {hn::Mul(x, p), q};
}

HWY_INLINE FloatVector tanh_of(FloatVector x) {
  const TanhRatio ratio = tanh_ratio(x);
  return hn::Div(ratio.above, ratio.below);
}

// 1 / (1 + exp(-x)).
HWY_INLINE FloatVector sigmoid_of(FloatVector x) {
  return hn::Div(splat(1.0F), hn::Add(splat(1.0F), exp_of(hn::Neg(x))));
}

// Activations as value types: `value` of x; `gradient` is dy times the derivative at x; `saved_gradient` is the same
// from what the op keeps, which is the output where graph::gradient_uses_output says so.
struct Identity {
  static HWY_INLINE FloatVector value(FloatVector x) { return x; }
  static HWY_INLINE FloatVector gradient(FloatVector /*x*/, FloatVector dy) { return dy; }
  static HWY_INLINE FloatVector saved_gradient(FloatVector /*y*/, FloatVector dy) { return dy; }
};

struct Relu {
  // x second: x86 gives it back when it is NaN.
  static HWY_INLINE FloatVector value(FloatVector x) { return hn::Max(splat(0.0F), x); }
  static HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) {
    return hn::IfThenZeroElse(hn::Le(x, splat(0.0F)), dy);  // NaN passes dy, as in PyTorch
  }
  // The output is positive where the input is.
  static HWY_INLINE FloatVector saved_gradient(FloatVector y, FloatVector dy) { return gradient(y, dy); }
};

struct LeakyRelu {
  float slope;

  HWY_INLINE FloatVector value(FloatVector x) const {
    return hn::IfThenElse(hn::Lt(x, splat(0.0F)), hn::Mul(x, splat(slope)), x);
  }
  HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) const {
    return hn::IfThenElse(hn::Gt(x, splat(0.0F)), dy, hn::Mul(dy, splat(slope)));
  }
  // The output is positive where the input is: the slope is not negative.
  HWY_INLINE FloatVector saved_gradient(FloatVector y, FloatVector dy) const { return gradient(y, dy); }
};

// x (1 + erf(x / sqrt 2)) / 2 = x Phi(x); derivative Phi(x) + x phi(x).
struct GeluErf {
  static HWY_INLINE FloatVector value(FloatVector x) { return hn::Mul(x, normal_of(x)); }
  static HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) {
    const FloatVector half_bell = half_exp_of_negative(hn::Mul(hn::Mul(x, x), splat(-0.5F)));
    const FloatVector density = hn::Mul(half_bell, splat(0.797884561F));
    return hn::Mul(dy, hn::MulAdd(x, density, normal_of(x)));
  }
  static HWY_INLINE FloatVector saved_gradient(FloatVector x, FloatVector dy) { return gradient(x, dy); }
};

// x (1 + tanh u) / 2 = x s with s = sigmoid(2u), u = sqrt(2 / pi) (x + 0.044715 x^3): one exp, and no cancellation.
// Derivative s + x s (1 - s) 2u', where 1 - s = e s with e = exp(-2u).
struct GeluTanh {
  static constexpr float kSlope = 2 * 0.797884561F, kCubic = 0.044715F;

  // exp(-2u).
  static HWY_INLINE FloatVector exp_of_minus_2u(FloatVector x, FloatVector square) {
    return exp_of(hn::Mul(x, hn::MulAdd(square, splat(-kSlope * kCubic), splat(-kSlope))));
  }
  static HWY_INLINE FloatVector value(FloatVector x) {
    return hn::Div(x, hn::Add(splat(1.0F), exp_of_minus_2u(x, hn::Mul(x, x))));
  }
  // Beyond +-9 the derivative is 0 or 1 up to 1e-26, and e stays finite.
  static HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) {
    x = hn::Min(splat(9.0F), hn::Max(splat(-9.0F), x));
    const FloatVector square = hn::Mul(x, x);
    const FloatVector e = exp_of_minus_2u(x, square);
    const FloatVector s = hn::Div(splat(1.0F), hn::Add(splat(1.0F), e));
    const FloatVector slope = hn::MulAdd(square, splat(3 * kSlope * kCubic), splat(kSlope));
    return hn::Mul(dy, hn::Mul(s, hn::MulAdd(hn::Mul(x, slope), hn::Mul(e, s), splat(1.0F))));
  }
  static HWY_INLINE FloatVector saved_gradient(FloatVector x, FloatVector dy) { return gradient(x, dy); }
};

// x s with s = sigmoid(x). Derivative s + x s (1 - s), where 1 - s = e s with e = exp(-x).
struct Silu {
  static HWY_INLINE FloatVector value(FloatVector x) { return hn::Div(x, hn::Add(splat(1.0F), exp_of(hn::Neg(x)))); }
  // Beyond +-80 the derivative is 0 or 1 up to 1e-32, and e stays finite.
  static HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) {
    x = hn::Min(splat(80.0F), hn::Max(splat(-80.0F), x));
    const FloatVector e = exp_of(hn::Neg(x));
    const FloatVector s = hn::Div(splat(1.0F), hn::Add(splat(1.0F), e));
    return hn::Mul(dy, hn::Mul(s, hn::MulAdd(x, hn::Mul(e, s), splat(1.0F))));
  }
  static HWY_INLINE FloatVector saved_gradient(FloatVector x, FloatVector dy) { return gradient(x, dy); }
};

// Derivative 1 - y^2.
struct Tanh {
  static HWY_INLINE FloatVector value(FloatVector x) { return tanh_of(x); }
  static HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) { return saved_gradient(tanh_of(x), dy); }
  static HWY_INLINE FloatVector saved_gradient(FloatVector y, FloatVector dy) {
    return hn::Mul(dy, hn::NegMulAdd(y, y, splat(1.0F)));
  }
};

// Derivative y (1 - y).
struct Sigmoid {
  static HWY_INLINE FloatVector value(FloatVector x) { return sigmoid_of(x); }
  static HWY_INLINE FloatVector gradient(FloatVector x, FloatVector dy) { return saved_gradient(sigmoid_of(x), dy); }
  static HWY_INLINE FloatVector saved_gradient(FloatVector y, FloatVector dy) {
    return hn::Mul(dy, hn::NegMulAdd(y, y, y));
  }
};

// Calls body with the value of the type of `kind`.
template <class Body>
HWY_INLINE void with_activation(graph::Activation kind, const Body& body) {
  switch (kind.kind) {
    case graph::Activation::kNone:
      return body(Identity());
    case graph::Activation::kRelu:
      return body(Relu());
    case graph::Activation::kLeakyRelu:
      return body(LeakyRelu{static_cast<float>(kind.slope)});
    case graph::Activation::kGeluErf:
      return body(GeluErf());
    case graph::Activation::kGeluTanh:
      return body(GeluTanh());
    case graph::Activation::kSilu:
      return body(Silu());
    case graph::Activation::kTanh:
      return body(Tanh());
    case graph::Activation::kSigmoid:
      return body(Sigmoid());
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
