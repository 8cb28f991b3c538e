// From measurements to the figures of a Result that several commands share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "models/model.h"
#include "record/result.h"
#include "schedule/schedule.h"
#include "trace/timeline.h"

namespace headway::app {

// What was measured of a training step.
struct StepFigures {
  std::vector<double> seconds;  // warm-up dropped
  std::string stop;
  const trace::Timeline* timeline = nullptr;
  std::int64_t traced_steps = 0;
};

// Fills step time, throughput, MFU, bandwidth share, memory, breakdown, prediction and noise notes.
// `cluster` is null when the machine was never probed: a note then says so.
void fill_figures(record::Result& result, const StepFigures& figures, const schedule::Schedule& schedule,
                  const models::Model& model, std::int64_t batch, const cluster::Cluster* cluster);

// The predicted timeline of a schedule; nothing without a cluster.
std::optional<trace::Timeline> predict(const schedule::Schedule& schedule, const cluster::Cluster* cluster);

}  // namespace headway::app
