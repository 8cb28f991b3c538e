// Measured points, and what lies between them.
//
// Rates and times of kernels are close to powers of their sizes over short ranges, so the logarithm of the value is
// interpolated linearly in the logarithms of the sizes, one size after another: the points with the two nearest values
// of the first size are curves over the other sizes. On a full grid this is multilinear interpolation; a ragged set
// needs no special case; a measured point is met exactly; no value lies outside those measured.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace headway::sim {

class Curve {
 public:
  // All points have the same number of sizes; sizes and values are positive.
  explicit Curve(const std::vector<std::pair<std::vector<double>, double>>& points);

  // Beyond the measured sizes the value is that of the nearest edge.
  double at(std::span<const double> sizes) const;

  // Least and largest measured value of a size.
  double first(std::size_t axis) const;
  double last(std::size_t axis) const;

 private:
  struct Point {
    std::vector<double> logs;
    double log_value = 0;
  };
  double interpolate(std::span<const Point> points, std::span<const double> logs, std::size_t axis) const;

  std::vector<Point> points_;  // sorted by their sizes
};

}  // namespace headway::sim
