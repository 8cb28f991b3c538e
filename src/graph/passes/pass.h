// Passes: rewrites of a differentiated graph, each with a name, timed, verified after it ran, and switched off by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/passes/recompute.h"

namespace headway::graph {

struct Pass {
  std::string_view name;
  std::string_view what;              // one line for --help and reports
  std::int64_t (*run)(Graph& graph);  // returns the number of rewrites
};

// Every pass, in the order in which they run.
std::span<const Pass> all_passes();

struct PassReport {
  std::string name;
  std::int64_t rewrites = 0;
  Seconds time;
};

// Runs all passes but those named in `without`, then recomputation ("recompute"), and verifies the graph after each.
// UserError for an unknown name.
std::vector<PassReport> run_passes(Graph& graph, const std::vector<std::string>& without,
                                   Recompute what = Recompute::kNone);

}  // namespace headway::graph
