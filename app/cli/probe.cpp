// headway probe: measures this machine into a cluster file.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "app/cli/command.h"
#include "app/cli/probing.h"
#include "app/cli/workspace.h"

namespace headway::app {
namespace {

struct ProbeCommandOptions {
  std::string output;
  int threads = 0;
};

void run_probe(const ProbeCommandOptions& options) {
  const std::filesystem::path path =
      options.output.empty() ? default_cluster_file() : std::filesystem::path(options.output);
  const cluster::Cluster cluster = probe_to(path, options.threads);
  std::fputs(probe_text(cluster).c_str(), stdout);
  std::fputs(fmt::format("  written to {}\n", path.string()).c_str(), stdout);
}

}  // namespace

void add_probe(CLI::App& program) {
  auto options = std::make_shared<ProbeCommandOptions>();
  CLI::App* command = program.add_subcommand("probe", "Measure this machine: rates, bandwidths, overheads");
  command->footer("Example: headway probe -o cluster.yaml");
  command->add_option("-o,--output", options->output, "Where to write it (default: where all commands look)")
      ->type_name("FILE");
  add_threads(*command, options->threads);
  command->callback([options] { run_probe(*options); });
}

}  // namespace headway::app
