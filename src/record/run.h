// The run file: what to train on what data, how, and split in which way.
//
// Everything but `model.name`, `data.source` and `data.batch` has a default: the initial values below. Values are
// checked for type and range here; whether this build or this machine can do what they ask (bf16, dp 8, recomputation)
// is for the caller to say, with error_at.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/model_config.h"
#include "record/place.h"
#include "record/run_enums.h"

namespace headway::record {

// Windows of market data (sources columnar, lob_sim, series_sim) and what is simulated.
struct WindowConfig {
  std::optional<std::int64_t> window;  // rows; none: what the model takes
  std::int64_t stride = 1;             // rows from one window to the next
  std::int64_t horizon = 10;           // rows that the label looks ahead
  WindowLabel label = WindowLabel::kDirection;
  std::optional<double> alpha;  // relative change that is a direction; none: a third of the training labels are neither
  WindowNormalise normalise = WindowNormalise::kTrain;
  std::optional<std::int64_t> purge;  // rows between training and validation; none: as many as it takes
  std::string price = "mid";          // the column of a file that labels are made of
  std::int64_t days = 8;              // simulated
  ArrivalProcess arrivals = ArrivalProcess::kPoisson;

  bool operator==(const WindowConfig&) const = default;
};

struct DataConfig {
  std::string source;       // kjv, mnist, synthetic ...
  std::int64_t batch = 0;   // samples of one step over all ranks and micro-batches; at least 1
  double valid = 0.05;      // share of the samples held back for validation, in [0, 1); not used with valid_test
  bool valid_test = false;  // `valid: test`: validate on the source's own test split
  bool shuffle = true;
  std::int64_t prefetch = 4;        // batches made ahead; 0 makes them when asked for
  std::int64_t rows = 65536;        // of a synthetic source
  std::optional<std::string> path;  // file of a source that reads one
  WindowConfig windows = {};        // its keys stand beside the others

  bool operator==(const DataConfig&) const = default;
};

struct OptimizerConfig {
  OptimizerKind name = OptimizerKind::kAdamW;
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.95};  // adamw
  double eps = 1e-8;                          // adamw
  double weight_decay = 0.1;
  double momentum = 0;  // sgd

  bool operator==(const OptimizerConfig&) const = default;
};

// The learning rate over the steps: a linear rise over `warmup` steps, then the named curve down to `final` of the
// peak.
struct LrSchedule {
  LrCurve name = LrCurve::kCosine;
  std::int64_t warmup = 10;  // when not given: a tenth of the steps, at most 50; 50 when the length is in epochs
  double final = 0.1;        // share of the peak at the last step; not used by `constant`

  bool operator==(const LrSchedule&) const = default;
};

struct EvaluateConfig {
  std::int64_t every = 100;  // steps; 0 = only at the end
  std::int64_t batches = 8;  // 0 = the whole validation set

  bool operator==(const EvaluateConfig&) const = default;
};

// Training ends when the metric passes the value; exactly one of the two is set.
struct Target {
  TargetMetric metric = TargetMetric::kValidLoss;
  std::optional<double> below;
  std::optional<double> above;

  bool operator==(const Target&) const = default;
};

struct CheckpointConfig {
  std::optional<std::string> dir;  // none: no checkpoints
  std::int64_t every = 100;        // steps; 0 = only at the end
  std::int64_t keep = 2;

  bool operator==(const CheckpointConfig&) const = default;
};

struct TrainConfig {
  std::optional<std::int64_t> steps = 100;  // exactly one of steps and epochs is set; 100 steps when the file has
  std::optional<std::int64_t> epochs;       // neither: enough to see a loss fall, short on any machine
  std::int64_t seed = 1;
  Precision precision = Precision::kF32;
  std::int64_t accumulate = 1;  // micro-batches whose gradients add up to one step
  OptimizerConfig optimizer;
  LrSchedule schedule;
  double clip = 1.0;  // largest norm of the gradient; 0 = off
  Recompute recompute = Recompute::kNone;
  bool deterministic = false;
  EvaluateConfig evaluate;
  std::optional<Target> target;
  CheckpointConfig checkpoint;

  bool operator==(const TrainConfig&) const = default;
};

struct StrategyConfig {
  std::int64_t dp = 1;
  std::int64_t tp = 1;
  bool sp = false;
  std::int64_t pp = 1;
  std::int64_t cp = 1;
  std::int64_t ep = 1;
  std::int64_t zero = 0;  // stage 0 to 3
  PipelineOrder schedule = PipelineOrder::k1F1B;
  std::int64_t interleave = 1;
  std::int64_t micro_batches = 1;
  double bucket_mb = 25;
  ReduceOrder order = ReduceOrder::kFixed;

  bool operator==(const StrategyConfig&) const = default;
};

struct Run {
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  StrategyConfig strategy;
  Places places;  // of the settings that were given; not compared

  bool operator==(const Run&) const = default;
};

// Parses and checks a run file; `file_name` is for messages. Each override is "train.steps=40": the value, as YAML,
// replaces what the file says before anything is checked; overriding one of steps/epochs (below/above) removes the
// other. Every fault is a UserError that names file and line (or the override), key, value and what would be right.
Run parse_run(std::string_view text, const std::string& file_name, const std::vector<std::string>& overrides = {});

// The same from a file of at most 1 MiB. UserError when there is none, EnvironmentError when it cannot be read.
Run load_run(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});

// The complete effective run file: every setting, defaults included. parse_run of it gives an equal Run.
std::string to_yaml(const Run& run);

// For callers that cannot do what a valid run file asks: "x.yaml:14: strategy.dp: what".
UserError error_at(const Run& run, const std::string& path, std::string_view what);

}  // namespace headway::record
