// The bounds that vector_math-inl.h states, over sweeps of every 997th f32 (all signs, sizes, denormals), in every
// instruction set. A polynomial with one coefficient changed must not pass.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/vector_math_test.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

void ExpArray(const float* x, float* y, std::int64_t n) {
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR { at.store(exp_of(at.load(x + j)), y + j); });
}
void TailArray(const float* x, float* y, std::int64_t n) {
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR { at.store(tail_of(at.load(x + j)), y + j); });
}
void ErfArray(const float* x, float* y, std::int64_t n) {
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR { at.store(erf_of(at.load(x + j)), y + j); });
}
void TanhArray(const float* x, float* y, std::int64_t n) {
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR { at.store(tanh_of(at.load(x + j)), y + j); });
}

void SigmoidArray(const float* x, float* y, std::int64_t n) {
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR { at.store(sigmoid_of(at.load(x + j)), y + j); });
}
void SiluArray(const float* x, float* y, std::int64_t n) {
  for_each_vector(n, [&](auto at, std::int64_t j) HWY_ATTR { at.store(Silu::value(at.load(x + j)), y + j); });
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {
namespace {

HWY_EXPORT(ExpArray);
HWY_EXPORT(TailArray);
HWY_EXPORT(ErfArray);
HWY_EXPORT(TanhArray);
HWY_EXPORT(SigmoidArray);
HWY_EXPORT(SiluArray);

using Bound = double (*)(double x, double exact);  // allowed absolute error

double ulp_of(double value) {
  const auto size = static_cast<float>(std::abs(value));
  return static_cast<double>(std::nextafter(size, std::numeric_limits<float>::infinity())) - static_cast<double>(size);
}

struct Worst {
  double ratio = 0;  // error / bound
  double x = 0, got = 0;
};

std::vector<float> all_floats(float low, float high) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 997) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (value >= low && value <= high) x.push_back(value);
  }
  return x;
}

Worst worst_of(const std::vector<float>& x, const std::vector<float>& y, double (*exact)(double), Bound bound) {
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = exact(x[i]), error = std::abs(y[i] - want);
    const double ratio = std::isinf(static_cast<float>(want)) && std::isinf(y[i]) ? 0 : error / bound(x[i], want);
    if (!(ratio <= worst.ratio)) worst = {ratio, x[i], y[i]};
  }
  return worst;
}

template <class Run>
void expect_bound(const char* name, Run run, float low, float high, double (*exact)(double), Bound bound) {
  const std::vector<float> x = all_floats(low, high);
  std::vector<float> y(x.size());
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t left = all & HWY_TARGETS; left != 0; left &= left - 1) {
    hwy::GetChosenTarget().Update(left & -left);
    run(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    const Worst worst = worst_of(x, y, exact, bound);
    EXPECT_LE(worst.ratio, 1) << name << " " << hwy::TargetName(left & -left) << " at " << worst.x << " gives "
                              << worst.got;
    ::testing::Test::RecordProperty(std::string(name) + "_" + hwy::TargetName(left & -left),
                                    std::to_string(worst.ratio));
    // The check itself: two millionths too much is too much.
    for (float& value : y) value = value * 1.000002F + 2e-38F;
    EXPECT_GT(worst_of(x, y, exact, bound).ratio, 1) << name;
  }
  hwy::GetChosenTarget().Update(all);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(VectorMath, ExpHoldsItsBound) {
  expect_bound(
      "exp",
      [](auto... args) {
        HWY_DYNAMIC_DISPATCH(ExpArray)
        (args...);
      },
      -kInfinity, kInfinity, [](double x) { return std::exp(x); },
      [](double, double exact) { return std::max(2 * ulp_of(exact), 0x1p-125); });
}

TEST(VectorMath, TailHoldsItsBound) {
  expect_bound(
      "tail",
      [](auto... args) {
        HWY_DYNAMIC_DISPATCH(TailArray)
        (args...);
      },
      0, kInfinity, [](double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); }, [](double, double) { return 6e-8; });
}

TEST(VectorMath, ErfHoldsItsBound) {
  expect_bound(
      "erf",
      [](auto... args) {
        HWY_DYNAMIC_DISPATCH(ErfArray)
        (args...);
      },
      -kInfinity, kInfinity, [](double x) { return std::erf(x); }, [](double, double) { return 1.2e-7; });
}

TEST(VectorMath, TanhHoldsItsBound) {
  expect_bound(
      "tanh",
      [](auto... args) {
        HWY_DYNAMIC_DISPATCH(TanhArray)
        (args...);
      },
      -kInfinity, kInfinity, [](double x) { return std::tanh(x); },
      [](double, double exact) { return std::max(8 * ulp_of(exact), 0x1p-125); });
}

TEST(VectorMath, SigmoidHoldsItsBound) {
  expect_bound(
      "sigmoid",
      [](auto... args) {
        HWY_DYNAMIC_DISPATCH(SigmoidArray)
        (args...);
      },
      -kInfinity, kInfinity, [](double x) { return 1 / (1 + std::exp(-x)); },
      [](double, double exact) { return std::max(4 * ulp_of(exact), 0x1p-125); });
}

TEST(VectorMath, SiluHoldsItsBound) {
  expect_bound(
      "silu",
      [](auto... args) {
        HWY_DYNAMIC_DISPATCH(SiluArray)
        (args...);
      },
      -1e30F, 1e30F, [](double x) { return x / (1 + std::exp(-x)); },
      [](double, double exact) { return std::max(4 * ulp_of(exact), 0x1p-121); });
}

TEST(VectorMath, TakesSpecialValues) {
  const std::vector<float> x = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 0.0F, 89.0F, 88.72F};
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(ExpArray)(x.data(), y.data(), 6);
  EXPECT_EQ(y[0], kInfinity);
  EXPECT_EQ(y[1], 0);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 1);
  EXPECT_EQ(y[4], kInfinity);
  EXPECT_TRUE(std::isfinite(y[5]));
  HWY_DYNAMIC_DISPATCH(ErfArray)(x.data(), y.data(), 4);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], -1);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0);
  HWY_DYNAMIC_DISPATCH(TanhArray)(x.data(), y.data(), 4);
  EXPECT_NEAR(y[0], 1, 5e-7);
  EXPECT_NEAR(y[1], -1, 5e-7);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0);
}

}  // namespace
}  // namespace headway::backend
#endif  // HWY_ONCE
