// A training run from run file to Result, for `train` and `quickstart`.
#pragma once

#include <string>
#include <vector>

#include "record/result.h"

namespace headway::app {

struct TrainOptions {
  std::string run;
  std::vector<std::string> overrides;
  std::vector<std::string> without_passes;
  bool resume = false;
  bool quiet = false;  // no lines about the progress on standard output
  std::string init;
  std::string save_init;
  std::string cluster_file;
  std::string timeline;
  int threads = 0;
};

// Trains, stores the result and returns it.
record::Result run_training(const TrainOptions& options);

}  // namespace headway::app
