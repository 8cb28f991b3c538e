#include "app/cli/against.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "app/cli/workspace.h"
#include "backend/cpu/cpu_device.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/process.h"
#include "bench/against.h"
#include "bench/first_losses.h"
#include "bench/workloads.h"
#include "runtime/trainer.h"

namespace headway::app {
namespace {

constexpr std::int64_t kLosses = 20;
constexpr double kLearningRate = 1e-3;  // the peer's, constant

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "headway-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw EnvironmentError(
          fmt::format("cannot make a folder in {}", std::filesystem::temp_directory_path().string()));
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<double> own_losses(const std::string& workload, const AgainstTorch& options,
                               const std::filesystem::path& folder) {
  const record::Run run = find_run(workload, {});
  const auto device = backend::open_cpu_device(options.threads);
  const models::Model model = models::build_model(run.model, run.data.batch, true);
  runtime::TrainingSession session(forward_builder(run), runtime::session_options(run, options.without_passes),
                                   *device);
  session.initialise();
  const auto dataset = bench::random_dataset(model, run.data.batch);
  return bench::first_losses(session, *dataset, run.data.batch, kLosses, kLearningRate, folder);
}

// A short run of this program; its cluster file is the user's, its results are not.
std::vector<std::string> own_command(const std::string& workload, const AgainstTorch& options,
                                     const std::filesystem::path& result) {
  std::vector<std::string> command = {this_program(),
                                      "bench",
                                      workload,
                                      "--seconds",
                                      fmt::format("{}", options.seconds),
                                      "--threads",
                                      std::to_string(options.threads),
                                      "--no-store",
                                      "--json",
                                      result.string()};
  if (!options.cluster_file.empty()) command.insert(command.end(), {"--cluster", options.cluster_file});
  for (const std::string& pass : options.without_passes) command.insert(command.end(), {"--without-pass", pass});
  return command;
}

}  // namespace

record::Result bench_against_torch(const std::string& workload, const AgainstTorch& options) {
  if (!bench::workload_run(workload, {})) {
    throw UserError(fmt::format("--against: '{}' is no standard workload; PyTorch's side knows only those", workload));
  }
  const TemporaryFolder folder;
  const auto progress = make_progress();
  bench::AgainstOptions against;
  against.workload = workload;
  against.python = options.python;
  against.script = std::filesystem::path(HEADWAY_SOURCE) / "tools/peers/torch_workloads.py";
  against.own_result = folder.path() / "result.json";
  against.own_command = own_command(workload, options, against.own_result);
  against.threads = options.threads > 0 ? options.threads : static_cast<std::int64_t>(allowed_cpus().size());
  against.rounds = options.rounds;
  against.seconds = options.seconds;
  against.progress = progress.get();
  if (!std::filesystem::exists(against.script)) {
    throw EnvironmentError(fmt::format("--against needs {}, a part of Headway's sources", against.script.string()));
  }
  const bench::Against measured = bench::measure_against_torch(against);

  record::Result result = measured.own;
  result.id = record::make_id();
  result.time = record::utc_now();
  for (const auto& [peer, samples] : measured.peers) result.samples[peer + " step_ms"] = samples;
  const std::vector<double> ours = own_losses(workload, options, folder.path());
  const auto torch_losses = [&](DType dtype) {
    if (progress) progress->update("losses", 0, 0, fmt::format("torch {}", name_of(dtype)));
    return bench::torch_losses(against, folder.path() / "parameters.safetensors", folder.path() / "batches.safetensors",
                               kLosses, dtype);
  };
  const std::vector<double> theirs = torch_losses(DType::kF32);
  const std::vector<double> exact = torch_losses(DType::kF64);
  result.samples["loss"] = ours;
  result.samples["torch eager loss"] = theirs;
  result.samples["torch float64 loss"] = exact;
  result.metrics.loss = ours.back();
  result.metrics.loss_difference = bench::largest_relative_difference(ours, theirs);
  result.metrics.loss_error = bench::largest_relative_difference(ours, exact);
  result.metrics.peer_loss_error = bench::largest_relative_difference(theirs, exact);
  store_result(result);
  return result;
}

}  // namespace headway::app
