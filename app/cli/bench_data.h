// headway bench data.
#pragma once

#include <string>

#include "record/result.h"

namespace headway::app {

struct BenchData {
  std::string file;  // a columnar file; empty: a simulated book
  double seconds = 3;
  bool against_torch = false;
  std::string python = "python3";
};

// Windows of 100 rows in random order into batches of 64: rates, beside memcpy's and, where asked, a DataLoader's.
record::Result bench_data(const BenchData& options);

std::string bench_data_text(const record::Result& result);

}  // namespace headway::app
