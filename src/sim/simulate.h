// The event engine: runs a Schedule's programs against a cost model and answers with a Timeline.
//
// Vocabulary: a stream runs its tasks one after another, in the order of the segment. A task starts when its stream is
// free and every task of its `after` is complete. The items of a program follow each other as the executor runs them:
// an item begins when the one before is complete on all streams.
#pragma once

#include "schedule/schedule.h"
#include "sim/cost_model.h"
#include "trace/timeline.h"

namespace headway::sim {

// One training step of every role, by the first rank of each; ranks that do the same are simulated once. The time
// starts at 0; spans stand in order of role, item and start. A pure function. InternalError when tasks wait for each
// other.
trace::Timeline simulate(const schedule::Schedule& schedule, const CostModel& model);

// The same with the time of each node given, as tests and what-if questions need it: one entry a node.
trace::Timeline simulate(const schedule::Schedule& schedule, const std::vector<Seconds>& node_times);

}  // namespace headway::sim
