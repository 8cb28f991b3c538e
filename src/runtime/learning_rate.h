// The learning rate of each step.
#pragma once

#include <cstdint>

#include "record/run.h"

namespace headway::runtime {

// A linear rise over the first `warmup` steps, then the named curve from the peak to `final` of it at the last step.
double learning_rate(const record::LrSchedule& schedule, double peak, std::int64_t step, std::int64_t total_steps);

}  // namespace headway::runtime
