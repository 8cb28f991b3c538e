#include "sim/curve.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace headway::sim {

Curve::Curve(const std::vector<std::pair<std::vector<double>, double>>& points) {
  HEADWAY_CHECK(!points.empty(), "a curve needs a point");
  for (const auto& [sizes, value] : points) {
    Point& point = points_.emplace_back();
    for (const double size : sizes) point.logs.push_back(std::log(size));
    point.log_value = std::log(value);
  }
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.logs < b.logs; });
}

double Curve::at(std::span<const double> sizes) const {
  HEADWAY_CHECK(sizes.size() == points_.front().logs.size(), "a curve asked with another number of sizes");
  std::vector<double> logs;
  for (const double size : sizes) logs.push_back(std::log(size));
  return std::exp(interpolate(points_, logs, 0));
}

double Curve::interpolate(std::span<const Point> points, std::span<const double> logs, std::size_t axis) const {
  if (axis == logs.size()) return points.front().log_value;
  const double wanted = logs[axis];
  const auto less = [axis](const Point& point, double value) { return point.logs[axis] < value; };
  const auto greater = [axis](double value, const Point& point) { return value < point.logs[axis]; };
  // The points whose size on this axis is `value`.
  const auto slice = [&](double value) {
    const auto begin = std::lower_bound(points.begin(), points.end(), value, less);
    const auto end = std::upper_bound(begin, points.end(), value, greater);
    return std::span<const Point>(begin, end);
  };
  const auto above = std::lower_bound(points.begin(), points.end(), wanted, less);
  if (above == points.end()) return interpolate(slice(points.back().logs[axis]), logs, axis + 1);
  const double high = above->logs[axis];
  if (above == points.begin() || high == wanted) return interpolate(slice(high), logs, axis + 1);
  const double low = std::prev(above)->logs[axis];
  const double share = (wanted - low) / (high - low);
  return (1 - share) * interpolate(slice(low), logs, axis + 1) + share * interpolate(slice(high), logs, axis + 1);
}

double Curve::first(std::size_t axis) const {
  const auto by = [axis](const Point& a, const Point& b) { return a.logs[axis] < b.logs[axis]; };
  return std::exp(std::min_element(points_.begin(), points_.end(), by)->logs[axis]);
}

double Curve::last(std::size_t axis) const {
  const auto by = [axis](const Point& a, const Point& b) { return a.logs[axis] < b.logs[axis]; };
  return std::exp(std::max_element(points_.begin(), points_.end(), by)->logs[axis]);
}

}  // namespace headway::sim
