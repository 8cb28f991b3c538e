#include "sim/curve.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace headway::sim {
namespace {

using Points = std::vector<std::pair<std::vector<double>, double>>;

// x^0.5 y^-2, a power law: log interpolation is exact everywhere inside.
double power_law(double x, double y) {
  return std::sqrt(x) / (y * y);
}

Points power_grid() {
  Points points;
  for (const double x : {1.0, 10.0, 1000.0}) {
    for (const double y : {2.0, 3.0, 50.0}) points.push_back({{x, y}, power_law(x, y)});
  }
  return points;
}

TEST(Curve, PowerLawsAreExact) {
  const Curve curve(power_grid());
  for (const double x : {1.0, 3.0, 10.0, 500.0, 1000.0}) {
    for (const double y : {2.0, 2.5, 3.0, 20.0, 50.0}) {
      EXPECT_NEAR(curve.at(std::array{x, y}) / power_law(x, y), 1, 1e-12) << x << " " << y;
    }
  }
}

TEST(Curve, MeasuredPointsAreMetExactly) {
  const Points points = {{{3, 5}, 7}, {{3, 9}, 2}, {{4, 5}, 11}, {{8, 100}, 0.5}};  // ragged
  const Curve curve(points);
  for (const auto& [sizes, value] : points) EXPECT_NEAR(curve.at(sizes), value, 1e-12 * value);
}

TEST(Curve, ValuesStayBetweenTheMeasured) {
  const Curve curve(Points{{{10}, 3}, {{100}, 5}});
  EXPECT_DOUBLE_EQ(curve.at(std::array{1.0}), 3);
  EXPECT_DOUBLE_EQ(curve.at(std::array{1e9}), 5);
  EXPECT_NEAR(curve.at(std::array{std::sqrt(1000.0)}), std::sqrt(15.0), 1e-12);
  EXPECT_NEAR(curve.first(0), 10, 1e-9);
  EXPECT_NEAR(curve.last(0), 100, 1e-9);
}

}  // namespace
}  // namespace headway::sim
