// headway predict: the time, breakdown and memory of a run on a measured machine, without training.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "app/cli/command.h"
#include "app/cli/workspace.h"
#include "app/report/summary.h"
#include "backend/cpu/cpu_device.h"
#include "base/error.h"
#include "base/file.h"
#include "runtime/trainer.h"

namespace headway::app {
namespace {

struct PredictOptions {
  std::string run;
  std::string cluster_file;
  std::string timeline;
  bool show_schedule = false;
  int threads = 0;
  std::vector<std::string> overrides;
  std::vector<std::string> without_passes;
  JsonOption json;
};

void run_predict(const PredictOptions& options) {
  const record::Run run = find_run(options.run, options.overrides);
  const auto cluster = find_cluster(options.cluster_file);
  if (!cluster) {
    throw UserError(
        fmt::format("predict: no cluster file: {} does not exist; `headway probe` measures this machine, or "
                    "name a file with --cluster",
                    default_cluster_file().string()));
  }
  const models::Model model = models::build_model(run.model, run.data.batch, true);
  // What `train` would refuse is refused here too; data that is not on this machine is no obstacle to a prediction.
  std::string unchecked;
  try {
    static_cast<void>(open_data(run, model));
  } catch (const EnvironmentError& error) {
    unchecked = fmt::format("the data was not checked: {}", error.what());
  }
  const auto device = backend::open_cpu_device(options.threads);
  const schedule::Schedule schedule =
      runtime::plan_training(forward_builder(run), runtime::session_options(run, options.without_passes), *device);
  record::Result result = new_result("predict", workload_name(options.run), run, *device);
  fill_figures(result, {}, schedule, model, run.data.batch, &*cluster);
  if (!unchecked.empty()) result.notes.push_back(unchecked);
  if (!options.timeline.empty()) {
    const auto predicted = predict(schedule, &*cluster);
    write_file_atomic(options.timeline, trace::to_chrome_json({&*predicted}));
  }
  if (options.show_schedule) std::fputs(to_string(schedule).c_str(), stdout);
  store_result(result);
  deliver({result}, options.json);
}

}  // namespace

void add_predict(CLI::App& program) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = program.add_subcommand("predict", "Predict step time, breakdown and memory of a run");
  command->footer("Example: headway predict models/gpt_kjv.yaml --timeline predicted.json");
  command->add_option("RUN", options->run, "A run file, or a workload's name")->required();
  command->add_option("--cluster", options->cluster_file, "Cluster file (default: what the probe wrote)")
      ->type_name("FILE");
  command->add_option("--timeline", options->timeline, "Predicted spans, for Perfetto")->type_name("FILE");
  command->add_flag("--show-schedule", options->show_schedule, "Print segments, tasks, buffers and the program");
  add_threads(*command, options->threads);
  add_without_pass(*command, options->without_passes);
  add_set(*command, options->overrides);
  add_json(*command, options->json);
  command->callback([options] { run_predict(*options); });
}

}  // namespace headway::app
