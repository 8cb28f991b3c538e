// headway train: trains what a run file says.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "app/cli/command.h"
#include "app/cli/training.h"
#include "app/cli/workspace.h"

namespace headway::app {

void add_train(CLI::App& program) {
  auto options = std::make_shared<TrainOptions>();
  auto json = std::make_shared<JsonOption>();
  CLI::App* command = program.add_subcommand("train", "Train what a run file says");
  command->footer(
      "Example: headway train models/gpt_kjv.yaml --set train.steps=40\n"
      "         headway train gpt --set train.checkpoint.dir=ckpt --resume");
  command->add_option("RUN", options->run, "A run file, or a workload's name")->required();
  command->add_flag("--resume", options->resume, "Go on from the newest checkpoint, if there is one");
  command->add_option("--init", options->init, "Start from the parameters in FILE (safetensors)")->type_name("FILE");
  command->add_option("--save-init", options->save_init, "Write the initial parameters to FILE (safetensors)")
      ->type_name("FILE");
  command->add_option("--cluster", options->cluster_file, "Cluster file to predict with (default: the probe's)")
      ->type_name("FILE");
  command->add_option("--timeline", options->timeline, "Spans of ten warm steps, for Perfetto")->type_name("FILE");
  add_threads(*command, options->threads);
  add_without_pass(*command, options->without_passes);
  add_set(*command, options->overrides);
  add_json(*command, *json);
  command->callback([options, json] {
    options->quiet = json->given && (json->file.empty() || json->file == "-");
    const record::Result result = run_training(*options);
    deliver({result}, *json);
  });
}

}  // namespace headway::app
