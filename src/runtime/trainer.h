// The trainer: runs a session over a data set as a run file says, evaluates, saves, resumes, and reports.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "data/source.h"
#include "record/run.h"
#include "runtime/checkpoint.h"
#include "runtime/session.h"

namespace headway::runtime {

struct TrainerOptions {
  record::Run run = {};
  const data::Split* data = nullptr;
  ForwardBuilder build = {};
  std::int64_t predictions_per_sample = 1;
  bool resume = false;                                  // from the newest checkpoint of train.checkpoint.dir
  std::optional<std::filesystem::path> init = {};       // parameters to start from
  std::optional<std::filesystem::path> save_init = {};  // where to write the initial parameters
  std::vector<std::string> without_passes = {};
  std::vector<int> loader_cpus = {};    // where the prefetch thread may run
  trace::Timeline* timeline = nullptr;  // gets the spans of the first `timeline_steps` warm steps
  std::int64_t timeline_steps = 10;
  Progress* progress = nullptr;
};

// Batch, optimizer and seed of a run as a session wants them. UserError, naming its place, for what a valid run file
// asks and this version cannot do.
SessionOptions session_options(const record::Run& run, const std::vector<std::string>& without_passes);

struct EvaluationPoint {
  std::int64_t step = 0;  // steps done
  Evaluation result;
};

struct TrainingReport {
  std::int64_t first_step = 0;   // 0, or where a resumed run went on
  std::int64_t steps = 0;        // steps done since the start of training
  std::int64_t total_steps = 0;  // asked for
  double epochs = 0;
  std::optional<double> loss;  // of the last step, also when that was run before a resume
  std::vector<double> losses;  // of the steps run now
  std::vector<double> step_seconds;
  std::vector<EvaluationPoint> evaluations;
  std::optional<double> seconds_to_target;
  std::optional<std::string> target_reached;  // "valid_loss 1.98 below 2"
  std::int64_t traced_steps = 0;              // steps whose spans are in the timeline
  Seconds data_wait;
  Seconds wall;  // of the steps, evaluations and checkpoints left out
};

class Trainer {
 public:
  // Builds the session.
  Trainer(TrainerOptions options, backend::Device& device);

  TrainingSession& session() { return session_; }

  // Trains to the end. A loss that is not finite is a UserError naming step and tensor; checkpoints stay.
  TrainingReport train();

 private:
  Progression start();
  std::int64_t total_steps() const;
  void evaluate(TrainingReport& report);
  bool target_met(TrainingReport& report, double train_loss, bool evaluated) const;
  void save(const TrainingReport& report);

  TrainerOptions options_;
  TrainingSession session_;
};

}  // namespace headway::runtime
