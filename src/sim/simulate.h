// The event engine: runs a Schedule's programs against a cost model and answers with a Timeline.
#pragma once

#include "schedule/schedule.h"
#include "sim/cost_model.h"
#include "trace/timeline.h"

namespace headway::sim {

// One training step of every role, rank 0 of each. Deterministic. Ranks that do the same are simulated once.
trace::Timeline simulate(const schedule::Schedule& schedule, const CostModel& model);

}  // namespace headway::sim
