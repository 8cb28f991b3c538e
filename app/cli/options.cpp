#include <CLI/CLI.hpp>

#include "app/cli/command.h"

namespace headway::app {

void add_json(CLI::App& command, JsonOption& json) {
  command
      .add_option_function<std::string>(
          "--json",
          [&json](const std::string& file) {
            json.given = true;
            json.file = file;
          },
          "The result as JSON into FILE, or alone on stdout")
      ->expected(0, 1)
      ->default_str("-")
      ->type_name("FILE");
}

void add_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "Threads to compute with; 0: every allowed core")
      ->check(CLI::Range(0, 4096))
      ->type_name("N")
      ->capture_default_str();
}

void add_set(CLI::App& command, std::vector<std::string>& overrides) {
  command.add_option("--set", overrides, "Override the run file: --set train.steps=40")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_without_pass(CLI::App& command, std::vector<std::string>& passes) {
  command.add_option("--without-pass", passes, "Switch off a pass: fuse_norm_activation, ...")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

}  // namespace headway::app
