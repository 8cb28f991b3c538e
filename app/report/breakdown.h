// Where the time of a step went: measured and predicted timelines joined by op.
#pragma once

#include <optional>

#include "record/result.h"
#include "schedule/schedule.h"
#include "sim/cost_model.h"
#include "trace/timeline.h"

namespace headway::app {

// One row per op, the largest first, with milliseconds a step. `measured` holds `steps` steps (null: none, then ms is
// the prediction and the shares are of it); `predicted` and `model` are null when there is no cluster file.
std::vector<record::BreakdownRow> make_breakdown(const schedule::Schedule& schedule, const trace::Timeline* measured,
                                                 std::int64_t steps, const trace::Timeline* predicted,
                                                 const sim::CostModel* model);

}  // namespace headway::app
