// headway bench --to-target RUN --seeds N: how long training takes to its target.
#pragma once

#include <string>
#include <vector>

#include "record/result.h"

namespace headway::app {

struct ToTarget {
  int seeds = 5;
  int threads = 0;
  std::vector<double> reference;  // epochs of reference runs, for the convergence test
  std::vector<std::string> overrides;
  std::vector<std::string> without_passes;
};

// Trains the run with the seeds train.seed, train.seed + 1, ...; every training is stored, and so is the summary that
// is returned. UserError for a run without a target.
record::Result bench_to_target(const std::string& run, const ToTarget& options);

// Seeds, means and the verdict of the convergence test as a table.
std::string to_target_text(const record::Result& summary);

}  // namespace headway::app
