#include "runtime/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "runtime/learning_rate.h"

namespace headway::runtime {
namespace {

constexpr std::int64_t kColdSteps = 3;  // not recorded: caches and pages are cold

// What a valid run file may ask and this version does not do yet is refused by name, never ignored.
void require_supported(const record::Run& run) {
  const auto refuse = [&](bool asked, const std::string& key, const std::string& what) {
    if (asked) throw record::error_at(run, key, what);
  };
  const record::StrategyConfig& strategy = run.strategy;
  for (const auto& [key, size] : {std::pair{"dp", strategy.dp},
                                  {"tp", strategy.tp},
                                  {"pp", strategy.pp},
                                  {"cp", strategy.cp},
                                  {"ep", strategy.ep}}) {
    refuse(size != 1, fmt::format("strategy.{}", key),
           fmt::format("{} ranks asked for, this version trains on one", size));
  }
  refuse(strategy.zero != 0, "strategy.zero", "sharded optimizer state needs several ranks; use 0");
  refuse(strategy.micro_batches != 1, "strategy.micro_batches", "a pipeline needs several ranks; use train.accumulate");
}

// A resumed run must be the same training; what may change are its length, its curve, and what is reported.
void require_same_training(const record::Run& now, const std::string& then_yaml, const std::filesystem::path& where) {
  const record::Run then = record::parse_run(then_yaml, (where / "index.json").string());
  const auto differs = [&](bool different, const char* key) {
    if (!different) return;
    throw record::error_at(now, key,
                           fmt::format("differs from the run that was saved in {}; use its value to resume, "
                                       "or another train.checkpoint.dir",
                                       where.string()));
  };
  differs(now.model != then.model, "model");
  differs(now.data.source != then.data.source, "data.source");
  differs(now.data.batch != then.data.batch, "data.batch");
  differs(now.data.windows != then.data.windows, "data.window");
  differs(now.data.shuffle != then.data.shuffle, "data.shuffle");
  differs(now.train.seed != then.train.seed, "train.seed");
  differs(now.train.accumulate != then.train.accumulate, "train.accumulate");
  differs(now.train.optimizer.name != then.train.optimizer.name, "train.optimizer.name");
}

// Two runs in one folder would delete each other's checkpoints, and resume from each other's.
void require_no_checkpoints(const record::Run& run) {
  const record::CheckpointConfig& config = run.train.checkpoint;
  if (!config.dir) return;
  if (const auto newest = CheckpointFolder(*config.dir, config.keep).newest()) {
    throw record::error_at(run, "train.checkpoint.dir",
                           fmt::format("{} holds checkpoints, the newest is {}; go on from it with --resume, or name "
                                       "another folder",
                                       *config.dir, newest->filename().string()));
  }
}

graph::Recompute recompute_of(record::Recompute what) {
  switch (what) {
    case record::Recompute::kNone:
      return graph::Recompute::kNone;
    case record::Recompute::kSelective:
      return graph::Recompute::kSelective;
    case record::Recompute::kFull:
      break;
  }
  return graph::Recompute::kFull;
}

}  // namespace

SessionOptions session_options(const record::Run& run, const std::vector<std::string>& without_passes) {
  require_supported(run);
  const record::TrainConfig& train = run.train;
  SessionOptions session;
  session.batch = run.data.batch;
  session.accumulate = train.accumulate;
  session.seed = static_cast<std::uint64_t>(train.seed);
  session.without_passes = without_passes;
  session.passes.precision = train.precision == record::Precision::kBF16 ? DType::kBF16 : DType::kF32;
  session.passes.recompute = recompute_of(train.recompute);
  graph::OptimizerSpec& spec = session.optimizer;
  spec.kind = train.optimizer.name == record::OptimizerKind::kAdamW ? graph::OptimizerSpec::Kind::kAdamW
                                                                    : graph::OptimizerSpec::Kind::kSgd;
  spec.beta1 = train.optimizer.betas[0];
  spec.beta2 = train.optimizer.betas[1];
  spec.eps = train.optimizer.eps;
  spec.momentum = train.optimizer.momentum;
  spec.weight_decay = train.optimizer.weight_decay;
  spec.clip = train.clip;
  return session;
}

Trainer::Trainer(TrainerOptions options, backend::Device& device)
    : options_(std::move(options)),
      session_(options_.build, session_options(options_.run, options_.without_passes), device) {}

std::int64_t Trainer::total_steps() const {
  const record::TrainConfig& train = options_.run.train;
  if (train.steps) return *train.steps;
  const std::int64_t samples = *train.epochs * options_.data->train->size();
  return (samples + options_.run.data.batch - 1) / options_.run.data.batch;
}

Progression Trainer::start() {
  session_.initialise();
  if (options_.init) load_parameters(*options_.init, session_.executor());
  if (options_.save_init) save_parameters(*options_.save_init, session_.executor());
  const record::CheckpointConfig& config = options_.run.train.checkpoint;
  if (!options_.resume) {
    require_no_checkpoints(options_.run);
    return {};
  }
  if (!config.dir)
    throw record::error_at(options_.run, "train.checkpoint.dir", "--resume needs the folder to resume from");
  const auto newest = CheckpointFolder(*config.dir, config.keep).newest();
  if (!newest) return {};
  return load_checkpoint(*newest, session_.executor(),
                         [&](const std::string& then) { require_same_training(options_.run, then, *newest); })
      .progression;
}

void Trainer::evaluate(TrainingReport& report) {
  if (options_.data->valid == nullptr) return;
  const std::int64_t batches = options_.run.train.evaluate.batches, all = options_.data->valid->size();
  const std::int64_t samples = batches == 0 ? all : std::min(all, batches * options_.run.data.batch);
  report.evaluations.push_back(
      {report.steps, session_.evaluate(*options_.data->valid, samples, options_.predictions_per_sample)});
}

bool Trainer::target_met(TrainingReport& report, double train_loss, bool evaluated) const {
  const auto& target = options_.run.train.target;
  if (!target) return false;
  std::optional<double> value;
  if (target->metric == record::TargetMetric::kTrainLoss) {
    value = train_loss;
  } else if (evaluated && !report.evaluations.empty()) {
    const Evaluation& last = report.evaluations.back().result;
    value = target->metric == record::TargetMetric::kValidLoss ? std::optional(last.loss) : last.accuracy;
  }
  if (!value) return false;
  const bool met = target->below ? *value < *target->below : *value > *target->above;
  if (met) {
    report.target_reached =
        fmt::format("{} {:.4g} {} {}", record::name_of(target->metric), *value, target->below ? "below" : "above",
                    target->below ? *target->below : *target->above);
  }
  return met;
}

void Trainer::save(const TrainingReport& report) {
  const record::CheckpointConfig& config = options_.run.train.checkpoint;
  CheckpointFolder(*config.dir, config.keep)
      .save(session_.executor(), {report.steps, report.steps * options_.run.data.batch, *report.loss},
            record::to_yaml(options_.run));
}

TrainingReport Trainer::train() {
  const record::Run& run = options_.run;
  const std::int64_t batch_size = run.data.batch;
  if (run.train.checkpoint.dir) CheckpointFolder(*run.train.checkpoint.dir, run.train.checkpoint.keep).create();
  const Progression progression = start();
  TrainingReport report;
  report.first_step = report.steps = progression.step;
  report.total_steps = total_steps();
  if (progression.step > 0) report.loss = progression.loss;

  const data::Dataset& dataset = *options_.data->train;
  const data::Sampler sampler(static_cast<std::uint64_t>(run.train.seed), dataset.size(), run.data.shuffle);
  data::Loader loader(dataset, sampler,
                      {.batch = batch_size,
                       .depth = run.data.prefetch,
                       .start_position = progression.position,
                       .cpus = options_.loader_cpus});
  const std::int64_t evaluate_every = run.train.evaluate.every, save_every = run.train.checkpoint.every;
  bool stop = false;
  while (report.steps < report.total_steps && !stop) {
    // Early steps, past the first cold ones: a run may stop at a target at any later time.
    const std::int64_t done = report.steps - report.first_step;
    const bool recorded =
        options_.timeline != nullptr && done >= kColdSteps && report.traced_steps < options_.timeline_steps;
    session_.executor().record(recorded ? options_.timeline : nullptr);
    const Seconds begin = now();
    const data::Batch& batch = loader.next();
    const double rate = learning_rate(run.train.schedule, run.train.optimizer.lr, report.steps, report.total_steps);
    const StepOutcome outcome = session_.step(batch, report.steps, rate);
    const Seconds taken = now() - begin;
    if (!outcome.finite) {
      throw UserError(
          fmt::format("step {}: the loss is {}: the first value that is not finite is in {}; lower "
                      "train.optimizer.lr ({}) or set train.clip; saved checkpoints are untouched",
                      report.steps, std::isnan(outcome.loss) ? "not a number" : "infinite",
                      session_.explain_non_finite(batch, report.steps), run.train.optimizer.lr));
    }
    ++report.steps;
    if (recorded) ++report.traced_steps;
    report.wall += taken;
    report.losses.push_back(outcome.loss);
    report.loss = outcome.loss;
    report.step_seconds.push_back(taken.value);
    if (options_.progress != nullptr) {
      options_.progress->update("train", report.steps, report.total_steps,
                                fmt::format("loss {:.4f}  {:.1f} ms", outcome.loss, taken.value * 1e3));
    }
    const bool last = report.steps == report.total_steps;
    const bool evaluated = last || (evaluate_every > 0 && report.steps % evaluate_every == 0);
    if (evaluated) evaluate(report);
    stop = target_met(report, outcome.loss, evaluated);
    if (stop) report.seconds_to_target = report.wall.value;
    if (run.train.checkpoint.dir && (last || stop || (save_every > 0 && report.steps % save_every == 0))) save(report);
  }
  session_.executor().record(nullptr);
  report.data_wait = loader.wait_seconds();
  report.epochs = static_cast<double>(report.steps * batch_size) / static_cast<double>(dataset.size());
  return report;
}

}  // namespace headway::runtime
