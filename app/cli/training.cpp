#include "app/cli/training.h"

#include <fmt/core.h>

#include <cstdio>

#include "app/cli/workspace.h"
#include "app/report/summary.h"
#include "app/report/words.h"
#include "backend/cpu/cpu_device.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "bench/steps.h"
#include "runtime/trainer.h"

namespace headway::app {
namespace {

void fill_training(record::Result& result, const runtime::TrainingReport& report, const data::Split& data) {
  record::Metrics& metrics = result.metrics;
  metrics.steps = report.steps;
  metrics.epochs = report.epochs;
  metrics.time_to_target_s = report.seconds_to_target;
  metrics.loss = report.loss;
  if (report.wall.value > 0) metrics.data_wait_share = report.data_wait.value / report.wall.value;
  if (!report.evaluations.empty()) {
    metrics.valid_loss = report.evaluations.back().result.loss;
    metrics.valid_accuracy = report.evaluations.back().result.accuracy;
    const data::Baseline baseline = data.valid->baseline();
    metrics.valid_baseline_accuracy = baseline.accuracy;
    if (baseline.loss) metrics.valid_r2 = 1 - *metrics.valid_loss / *baseline.loss;
  }
  result.samples["loss"] = report.losses;
  for (const runtime::EvaluationPoint& point : report.evaluations) {
    result.samples["valid_step"].push_back(static_cast<double>(point.step));
    result.samples["valid_loss"].push_back(point.result.loss);
    if (point.result.accuracy) result.samples["valid_accuracy"].push_back(*point.result.accuracy);
  }
  if (report.target_reached) result.notes.push_back("target reached: " + *report.target_reached);
  if (report.first_step > 0) result.notes.push_back(fmt::format("resumed at step {}", report.first_step));
  if (report.losses.empty()) result.notes.emplace_back("nothing left to train: all steps were done before");
}

}  // namespace

record::Result run_training(const TrainOptions& options) {
  const record::Run run = find_run(options.run, options.overrides);
  const auto cluster = find_cluster(options.cluster_file);
  const models::Model model = models::build_model(run.model, run.data.batch, true);
  const data::Split data = open_data(run, model);
  const auto device = backend::open_cpu_device(options.threads);
  const auto progress = make_progress();

  trace::Timeline timeline;
  timeline.source = "measured";
  runtime::TrainerOptions trainer_options;
  trainer_options.run = run;
  trainer_options.data = &data;
  trainer_options.build = forward_builder(run);
  trainer_options.predictions_per_sample = model.predictions_per_sample;
  trainer_options.resume = options.resume;
  if (!options.init.empty()) trainer_options.init = options.init;
  if (!options.save_init.empty()) trainer_options.save_init = options.save_init;
  trainer_options.without_passes = options.without_passes;
  trainer_options.loader_cpus = cpus_beside_pool(device->threads());
  trainer_options.timeline = &timeline;
  trainer_options.progress = progress.get();
  runtime::Trainer trainer(std::move(trainer_options), *device);
  if (!options.quiet) {
    const std::string line = fmt::format("{}: {} parameters, {}", workload_name(options.run),
                                         models::parameter_count(model.graph), data.train->description());
    std::fputs(wrapped(line, 2).c_str(), stdout);
    std::fflush(stdout);
  }
  const runtime::TrainingReport report = trainer.train();

  record::Result result = new_result("train", workload_name(options.run), run, *device);
  fill_training(result, report, data);
  std::vector<double> seconds = report.step_seconds;
  bench::drop_warmup(seconds);
  const schedule::Schedule& schedule = trainer.session().schedule();
  fill_figures(result, {seconds, "steps", timeline.spans.empty() ? nullptr : &timeline, report.traced_steps}, schedule,
               model, run.data.batch, cluster ? &*cluster : nullptr);
  note_dropped(result, trainer.session().executor());
  store_result(result);  // before anything that can fail
  if (!options.timeline.empty()) {
    const auto predicted = predict(schedule, cluster ? &*cluster : nullptr);
    std::vector<const trace::Timeline*> timelines = {&timeline};
    if (predicted) timelines.push_back(&*predicted);
    write_file_atomic(options.timeline, trace::to_chrome_json(timelines));
  }
  return result;
}

}  // namespace headway::app
