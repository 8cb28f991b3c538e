// TrainingSession: a model compiled for a device, its memory, and one training step at a time. The trainer and the
// benchmarks run the same session.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "data/loader.h"
#include "graph/ops/optimizer.h"
#include "graph/passes/pass.h"
#include "runtime/executor.h"

namespace headway::runtime {

// Builds the forward graph for a number of samples: inputs "input" and "target", output "loss" and perhaps "correct".
using ForwardBuilder = std::function<graph::Graph(std::int64_t samples, bool training)>;

struct SessionOptions {
  std::int64_t batch = 1;       // samples a step, over all micro-batches
  std::int64_t accumulate = 1;  // micro-batches a step; must divide batch
  graph::OptimizerSpec optimizer = {};
  std::uint64_t seed = 1;
  std::vector<std::string> without_passes = {};
  graph::PassOptions passes = {};
};

// What one training step gave.
struct StepOutcome {
  double loss = 0;                  // mean over the micro-batches
  std::optional<double> grad_norm;  // before clipping, when clipping is on
  bool finite = true;               // false: the update was not done
};

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;
  std::int64_t samples = 0;
};

// The training step of a model: forward, gradient, optimizer, fused by the passes (whose reports go to `passes` if not
// null), its kernels, and its verified schedule. UserError when accumulate does not divide batch.
schedule::Schedule plan_training(const ForwardBuilder& build, const SessionOptions& options, backend::Device& device,
                                 PreparedKernels* kernels = nullptr, std::vector<graph::PassReport>* passes = nullptr);

class TrainingSession {
 public:
  // Differentiates, fuses, prepares, schedules, verifies and allocates. UserError when accumulate does not divide
  // batch.
  TrainingSession(const ForwardBuilder& build, const SessionOptions& options, backend::Device& device);

  Executor& executor() { return *executor_; }
  const schedule::Schedule& schedule() const { return executor_->schedule(); }
  const std::vector<graph::PassReport>& passes() const { return passes_; }

  // Parameters from (seed, number of the parameter, element); optimizer state to zero.
  void initialise();

  // Runs one step on `batch`; `step` counts from 0.
  StepOutcome step(const data::Batch& batch, std::int64_t step, double learning_rate);

  // After a step that was not finite: which tensor was first, by running the micro-batch again.
  std::string explain_non_finite(const data::Batch& batch, std::int64_t step);

  // Means over `samples` samples of the dataset from the first on, exact for any number; the training memory between
  // steps is reused. `predictions` is what "correct" counts per sample.
  Evaluation evaluate(const data::Dataset& dataset, std::int64_t samples, std::int64_t predictions);

 private:
  void write_micro_batch(const data::Batch& batch, std::int64_t step, std::int64_t micro_batch);
  void write_hyper(std::int64_t step, double learning_rate);
  Executor& evaluator(std::int64_t samples);

  ForwardBuilder build_;
  SessionOptions options_;
  backend::Device& device_;
  std::vector<graph::PassReport> passes_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::pair<std::int64_t, std::unique_ptr<Executor>>> evaluators_;  // by samples
  graph::ValueId input_, target_, loss_, position_, hyper_, grad_norm_;
};

}  // namespace headway::runtime
