// headway bench: the standard workloads, measured.
#include <CLI/CLI.hpp>

#include "app/cli/command.h"
#include "app/cli/workspace.h"
#include "app/report/summary.h"
#include "backend/cpu/cpu_device.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "bench/steps.h"
#include "bench/workloads.h"
#include "runtime/trainer.h"

namespace headway::app {
namespace {

struct BenchOptions {
  std::vector<std::string> names;
  bool all = false;
  int threads = 0;
  double seconds = 15;
  std::string cluster_file;
  std::string timeline;
  std::vector<std::string> without_passes;
  std::vector<std::string> overrides;
  JsonOption json;
};

record::Result bench_one(const std::string& name, const BenchOptions& options, const cluster::Cluster* cluster) {
  const record::Run run = find_run(name, options.overrides);
  const std::vector<int> cpus = allowed_cpus();
  const auto device = backend::open_cpu_device(options.threads);
  const models::Model model = models::build_model(run.model, run.data.batch, true);
  for (const bench::Workload& workload : bench::standard_workloads()) {
    HEADWAY_CHECK(workload.name != name || models::parameter_count(model.graph) == workload.parameters ||
                      !options.overrides.empty(),
                  name + " has another number of parameters than the standard");
  }
  runtime::TrainingSession session(forward_builder(run), runtime::session_options(run, options.without_passes),
                                   *device);
  session.initialise();
  const auto dataset = bench::random_dataset(model, run.data.batch);
  bench::StepOptions steps;
  steps.most = Seconds(options.seconds);
  steps.least = Seconds(std::min(2.0, options.seconds));
  steps.loader_cpus = cpus;
  const auto progress = make_progress();
  const bench::StepMeasurement measured =
      bench::measure_steps(session, *dataset, run.data.batch, steps, progress.get());

  record::Result result = new_result("bench", workload_name(name), *device);
  result.metrics.loss = measured.loss;
  result.metrics.data_wait_share = measured.data_wait_share;
  fill_figures(result, {measured.seconds, measured.stop, &measured.timeline, measured.traced_steps}, session.schedule(),
               model, run.data.batch, cluster);
  store_result(result);  // before anything that can fail
  if (!options.timeline.empty()) {
    const auto predicted = predict(session.schedule(), cluster);
    std::vector<const trace::Timeline*> timelines = {&measured.timeline};
    if (predicted) timelines.push_back(&*predicted);
    write_file_atomic(options.timeline, trace::to_chrome_json(timelines));
  }
  return result;
}

void run_bench(const BenchOptions& options) {
  std::vector<std::string> names = options.names;
  if (options.all) {
    for (const bench::Workload& workload : bench::standard_workloads()) names.emplace_back(workload.name);
  }
  if (names.empty()) throw UserError("bench: name a workload, or say --all; known: mlp, mlp_small, gpt, convnet");
  const auto cluster = find_cluster(options.cluster_file);
  std::vector<record::Result> results;
  for (const std::string& name : names) {
    results.push_back(bench_one(name, options, cluster ? &*cluster : nullptr));
    if (!options.json.given || !options.json.file.empty()) deliver({results.back()}, {});
  }
  if (options.json.given) deliver_json(results, options.json);
}

}  // namespace

void add_bench(CLI::App& program) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = program.add_subcommand("bench", "Measure the standard workloads");
  command->footer("Example: headway bench mlp convnet gpt --json results.json");
  command->add_option("NAME", options->names, "mlp, mlp_small, gpt, convnet, or run files");
  command->add_flag("--all", options->all, "Every standard workload");
  command->add_option("--seconds", options->seconds, "At most this long for one workload")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--cluster", options->cluster_file, "Cluster file to predict with (default: the probe's)")
      ->type_name("FILE");
  command->add_option("--timeline", options->timeline, "Measured and predicted spans, for Perfetto")->type_name("FILE");
  add_threads(*command, options->threads);
  add_without_pass(*command, options->without_passes);
  add_set(*command, options->overrides);
  add_json(*command, options->json);
  command->callback([options] { run_bench(*options); });
}

}  // namespace headway::app
