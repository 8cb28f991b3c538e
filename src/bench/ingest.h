// How fast windows of a data set become batches, and what a training step would wait for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/units.h"
#include "data/dataset.h"

namespace headway::bench {

struct IngestOptions {
  std::int64_t batch = 64;
  Seconds seconds{3};  // of measuring
  Seconds step{0.05};  // of the training step that reads the batches
  std::vector<int> loader_cpus = {};
  Progress* progress = nullptr;
};

struct IngestMeasurement {
  std::int64_t window_bytes = 0;  // of the input of one sample
  double windows_per_s = 0;       // assembled by one thread, in random order
  double copies_per_s = 0;        // the same bytes in the same order by memcpy alone, in turns with the above
  double copy_share = 0;          // median over the turns of the ratio, in time on a processor
  double wait_share = 0;          // of a step of `step` seconds with batches made ahead
  std::vector<double> turns;      // windows_per_s of each
  std::vector<double> waits_ms;   // of each such step
};

// `raw(i)` is where the bytes of sample i's input are in memory, for the copy. Both sides fill the same buffers.
IngestMeasurement measure_ingest(const data::Dataset& dataset,
                                 const std::byte* (*raw)(const data::Dataset&, std::int64_t),
                                 const IngestOptions& options);

}  // namespace headway::bench
