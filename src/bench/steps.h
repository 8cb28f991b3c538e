// Measures training steps of a session until the median is known.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "bench/meters.h"
#include "data/dataset.h"
#include "runtime/session.h"

namespace headway::bench {

struct StepOptions {
  double relative_error = 0.01;  // stop when the median's interval is this narrow (half-width over median)
  Seconds least{2.0};            // but not before this much time
  Seconds most{15.0};            // and at the latest then, once there are three steps
  std::int64_t least_steps = 10;
  std::int64_t traced_steps = 10;  // steps with the recorder on, after the timed ones
  std::vector<int> loader_cpus;
  Meters* meters = nullptr;  // read around the timed steps, where given
};

struct StepMeasurement {
  std::vector<double> seconds;  // of the timed steps, warm-up dropped; the first step is not timed
  std::int64_t dropped = 0;     // warm-up steps
  std::string stop;             // "error", "settled", "time"
  double data_wait_share = 0;
  double loss = 0;           // of the last step
  trace::Timeline timeline;  // of the traced steps
  std::int64_t traced_steps = 0;
  MeterReading meters;  // a step, start-up included
};

StepMeasurement measure_steps(runtime::TrainingSession& session, const data::Dataset& dataset, std::int64_t batch,
                              const StepOptions& options, Progress* progress);

// Drops the start-up of a series by looking at it; returns how many.
std::int64_t drop_warmup(std::vector<double>& seconds);

}  // namespace headway::bench
