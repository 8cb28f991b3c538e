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

// What a run file asks of the graph.
struct PassOptions {
  DType precision = DType::kF32;  // of products: f32 or bf16
  Recompute recompute = Recompute::kNone;
};

// Runs all passes but those named in `without`, then "mixed_precision" and "recompute" where asked for, and verifies
// the graph after each. UserError for an unknown name.
std::vector<PassReport> run_passes(Graph& graph, const std::vector<std::string>& without,
                                   const PassOptions& options = {});

}  // namespace headway::graph
