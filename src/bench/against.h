// One workload's step time here and in PyTorch, measured in turns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/progress.h"
#include "record/result.h"

namespace headway::bench {

struct AgainstOptions {
  std::string workload;                  // a name that both sides know
  std::string python = "python3";        // an interpreter that can import torch
  std::filesystem::path script;          // tools/peers/torch_workloads.py
  std::vector<std::string> own_command;  // prints nothing and writes the Result of a short run to `own_result`
  std::filesystem::path own_result;
  std::int64_t threads = 0;
  std::int64_t rounds = 6;
  double seconds = 2;  // of steps for each side in a round, three steps at least
  Progress* progress = nullptr;
};

struct Against {
  record::Result own;                                // the last run's, its step times those of all rounds
  std::map<std::string, std::vector<double>> peers;  // milliseconds by side: "torch eager", "torch compile", ...
};

// Each round runs, in random order, Headway in a fresh process and PyTorch's eager and compiled step, as they come and
// with malloc told to keep large blocks, in four processes of this comparison that wait without using the cores. Fills
// Result::peers: a row for every side, and "torch" and "torch, large malloc" for the better of eager and compiled. The
// interval is that of the ratio's median over the rounds (its least and largest value below six). EnvironmentError when
// PyTorch is not there, saying how to get it.
Against measure_against_torch(const AgainstOptions& options);

// EnvironmentError when `python` cannot import what the peers of tools/peers need, saying how to get it.
void require_torch(const std::string& python);

// PyTorch's losses of the first `count` steps from these parameters on these batches (safetensors), eager, computed in
// f32 or f64.
std::vector<double> torch_losses(const AgainstOptions& options, const std::filesystem::path& parameters,
                                 const std::filesystem::path& batches, std::int64_t count, DType dtype);

}  // namespace headway::bench
