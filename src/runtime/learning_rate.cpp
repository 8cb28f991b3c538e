#include "runtime/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headway::runtime {

double learning_rate(const record::LrSchedule& schedule, double peak, std::int64_t step, std::int64_t total_steps) {
  if (step < schedule.warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup);
  const std::int64_t rest = std::max<std::int64_t>(1, total_steps - 1 - schedule.warmup);
  const double done = std::clamp(static_cast<double>(step - schedule.warmup) / static_cast<double>(rest), 0.0, 1.0);
  switch (schedule.name) {
    case record::LrCurve::kConstant:
      return peak;
    case record::LrCurve::kLinear:
      return peak * (1.0 - (1.0 - schedule.final) * done);
    case record::LrCurve::kCosine:
      return peak * (schedule.final + (1.0 - schedule.final) * 0.5 * (1.0 + std::cos(std::numbers::pi * done)));
  }
  return peak;
}

}  // namespace headway::runtime
