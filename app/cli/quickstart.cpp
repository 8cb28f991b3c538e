// headway quickstart: measure, train, compare prediction with measurement, say what bounds it.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "app/cli/command.h"
#include "app/cli/probing.h"
#include "app/cli/training.h"
#include "app/cli/workspace.h"
#include "app/report/words.h"
#include "base/environment.h"

namespace headway::app {
namespace {

// Reaches 85 % in less than an epoch, about half a minute on two cores.
constexpr const char* kQuickRun = "convnet";

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void run_quickstart(int threads) {
  say("1. Measuring this machine (about twenty seconds)\n\n");
  const cluster::Cluster cluster = probe_to(default_cluster_file(), threads);
  say(probe_text(cluster));
  forget_peak_resident();  // the memory that is reported below is the training's
  say("\n2. Training a convolutional network on Fashion-MNIST until 85 % of the test images\n"
      "   are named rightly\n\n");
  TrainOptions options;
  options.run = kQuickRun;
  options.threads = threads;
  options.overrides = {"train.epochs=2",           "train.optimizer.lr=2.0e-3",
                       "train.schedule.warmup=50", "train.evaluate.every=100",
                       "train.evaluate.batches=0", "train.target={metric: valid_accuracy, above: 0.85}"};
  const record::Result result = run_training(options);
  say("\n3. Where the time goes: measured beside predicted\n\n");
  deliver({result}, {});
  say("4. What that means\n\n" + bound_in_words(result));
  say(
      fmt::format("\nResults are kept in {}; `headway results` lists them.\n"
                  "Next: headway train models/gpt_kjv.yaml, headway bench --all, headway --help\n",
                  (user_data_directory() / "results.sqlite").string()));
}

}  // namespace

void add_quickstart(CLI::App& program) {
  auto threads = std::make_shared<int>(0);
  CLI::App* command = program.add_subcommand("quickstart", "Measure, train on real data, compare with the prediction");
  command->footer("Example: headway quickstart");
  add_threads(*command, *threads);
  command->callback([threads] { run_quickstart(*threads); });
}

}  // namespace headway::app
