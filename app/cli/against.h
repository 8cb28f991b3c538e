// headway bench NAME --against torch.
#pragma once

#include <string>
#include <vector>

#include "record/result.h"

namespace headway::app {

struct AgainstTorch {
  std::string python = "python3";
  int rounds = 6;
  int threads = 0;
  double seconds = 2;
  std::string cluster_file;
  std::vector<std::string> without_passes;
};

// Both sides in turns and their first 20 losses; stores the result and returns it.
record::Result bench_against_torch(const std::string& workload, const AgainstTorch& options);

}  // namespace headway::app
