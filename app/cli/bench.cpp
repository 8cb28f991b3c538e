// headway bench: the standard workloads, measured.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "app/cli/against.h"
#include "app/cli/bench_data.h"
#include "app/cli/command.h"
#include "app/cli/to_target.h"
#include "app/cli/workspace.h"
#include "app/report/summary.h"
#include "app/report/words.h"
#include "backend/cpu/cpu_device.h"
#include "base/error.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "bench/meters.h"
#include "bench/steps.h"
#include "bench/workloads.h"
#include "runtime/trainer.h"

namespace headway::app {
namespace {

struct BenchOptions {
  std::vector<std::string> names;
  bool all = false;
  bool no_store = false;
  std::string against;
  AgainstTorch torch;
  std::string to_target;
  ToTarget target;
  int threads = 0;
  double seconds = 15;
  std::string cluster_file;
  std::string timeline;
  std::vector<std::string> without_passes;
  std::vector<std::string> overrides;
  JsonOption json;
};

std::string known_workloads() {
  std::string names;
  for (const bench::Workload& workload : bench::standard_workloads()) {
    names += (names.empty() ? "" : ", ") + std::string(workload.name);
  }
  return names;
}

record::Result bench_one(const std::string& name, const BenchOptions& options, const cluster::Cluster* cluster) {
  const record::Run run = find_run(name, options.overrides);
  bench::Meters meters;  // before the threads that it counts
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
  steps.loader_cpus = cpus_beside_pool(device->threads());
  steps.meters = &meters;
  const auto progress = make_progress();
  const bench::StepMeasurement measured =
      bench::measure_steps(session, *dataset, run.data.batch, steps, progress.get());

  record::Result result = new_result("bench", workload_name(name), run, *device);
  result.metrics.loss = measured.loss;
  result.metrics.data_wait_share = measured.data_wait_share;
  result.metrics.instructions_per_step = measured.meters.instructions;
  result.metrics.cycles_per_step = measured.meters.cycles;
  result.metrics.cache_misses_per_step = measured.meters.cache_misses;
  result.metrics.joules_per_step = measured.meters.joules;
  fill_figures(result, {measured.seconds, measured.stop, &measured.timeline, measured.traced_steps}, session.schedule(),
               model, run.data.batch, cluster);
  note_dropped(result, session.executor());
  if (!meters.missing().empty()) result.notes.push_back("not readable here: " + meters.missing());
  if (!options.no_store) store_result(result);  // before anything that can fail
  if (!options.timeline.empty()) {
    const auto predicted = predict(session.schedule(), cluster);
    std::vector<const trace::Timeline*> timelines = {&measured.timeline};
    if (predicted) timelines.push_back(&*predicted);
    write_file_atomic(options.timeline, trace::to_chrome_json(timelines));
  }
  return result;
}

// Time to target: one run file, its own table.
void run_to_target(const BenchOptions& options) {
  if (!options.names.empty() || options.all || !options.against.empty()) {
    throw UserError("bench: --to-target takes its run alone, without other workloads or --against");
  }
  ToTarget target = options.target;
  target.threads = options.threads;
  target.overrides = options.overrides;
  target.without_passes = options.without_passes;
  const record::Result summary = bench_to_target(options.to_target, target);
  if (options.json.given) deliver_json({summary}, options.json);
  if (options.json.given && (options.json.file.empty() || options.json.file == "-")) return;
  std::fputs(to_target_text(summary).c_str(), stdout);
  for (const std::string& note : summary.notes) std::fputs(wrapped("  " + note, 2).c_str(), stdout);
}

record::Result bench_against(const std::string& name, const BenchOptions& options) {
  AgainstTorch torch = options.torch;
  torch.threads = options.threads;
  torch.cluster_file = options.cluster_file;
  torch.without_passes = options.without_passes;
  if (!options.overrides.empty()) throw UserError("bench: --against compares the standard workloads; leave --set out");
  return bench_against_torch(name, torch);
}

// bench data [FILE]: ingestion instead of training.
void run_bench_data(const BenchOptions& options) {
  if (options.names.size() > 2 || options.all) throw UserError("bench data: takes one columnar file, or none");
  BenchData data;
  if (options.names.size() == 2) data.file = options.names[1];
  data.seconds = std::min(options.seconds, 5.0);
  data.against_torch = !options.against.empty();
  data.python = options.torch.python;
  const record::Result result = bench_data(data);
  if (options.json.given) deliver_json({result}, options.json);
  if (options.json.given && (options.json.file.empty() || options.json.file == "-")) return;
  std::fputs(bench_data_text(result).c_str(), stdout);
}

void run_bench(const BenchOptions& options) {
  if (!options.to_target.empty()) return run_to_target(options);
  if (!options.names.empty() && options.names[0] == "data") return run_bench_data(options);
  std::vector<std::string> names = options.names;
  if (options.all) {
    for (const bench::Workload& workload : bench::standard_workloads()) names.emplace_back(workload.name);
  }
  if (names.empty()) throw UserError("bench: name a workload, or say --all; known: " + known_workloads());
  const auto cluster = find_cluster(options.cluster_file);
  std::vector<record::Result> results;
  for (const std::string& name : names) {
    results.push_back(options.against.empty() ? bench_one(name, options, cluster ? &*cluster : nullptr)
                                              : bench_against(name, options));
    if (!options.json.given || !options.json.file.empty()) deliver({results.back()}, {});
    std::fflush(stdout);  // a workload may take minutes
  }
  if (options.json.given) deliver_json(results, options.json);
}

}  // namespace

void add_bench(CLI::App& program) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = program.add_subcommand("bench", "Measure the standard workloads");
  command->footer(
      "Example: headway bench mlp convnet gpt --json results.json\n"
      "         headway bench gpt --against torch --python torchenv/bin/python\n"
      "         headway bench --to-target models/fashion_mnist.yaml --seeds 3\n"
      "         headway bench data lob.hwc --against torch");
  command->add_option("NAME", options->names, known_workloads() + ", run files, or: data [FILE]");
  command->add_flag("--all", options->all, "Every standard workload");
  command->add_option("--seconds", options->seconds, "At most this long for one workload")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--cluster", options->cluster_file, "Cluster file to predict with (default: the probe's)")
      ->type_name("FILE");
  command->add_option("--against", options->against, "Also measure this peer, in turns")
      ->check(CLI::IsMember({"torch"}))
      ->type_name("torch");
  command->add_option("--python", options->torch.python, "A Python that can import torch, for --against")
      ->type_name("PY")
      ->capture_default_str();
  command->add_option("--rounds", options->torch.rounds, "Turns of --against")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--to-target", options->to_target, "Train this run with several seeds until its target")
      ->type_name("RUN");
  command->add_option("--seeds", options->target.seeds, "Seeds of --to-target")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--reference-epochs", options->target.reference,
                   "Epochs of reference runs: the convergence test of MLPerf")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("E,E,...");
  command->add_flag("--no-store", options->no_store, "Do not keep the result");
  command->add_option("--timeline", options->timeline, "Measured and predicted spans, for Perfetto")->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--precision",
          [options](const std::string& precision) { options->overrides.push_back("train.precision=" + precision); },
          "Of products: f32 or bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->type_name("TYPE");
  add_threads(*command, options->threads);
  add_without_pass(*command, options->without_passes);
  add_set(*command, options->overrides);
  add_json(*command, options->json);
  command->callback([options] { run_bench(*options); });
}

}  // namespace headway::app
