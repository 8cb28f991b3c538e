// headway results: what was measured before.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "app/cli/command.h"
#include "app/cli/workspace.h"
#include "app/report/console.h"
#include "base/environment.h"
#include "record/store.h"

namespace headway::app {
namespace {

struct ResultsOptions {
  std::string id;
  record::ResultFilter filter{.limit = 20};
  JsonOption json;
};

void run_results(const ResultsOptions& options) {
  const std::filesystem::path path = user_data_directory() / "results.sqlite";
  if (!std::filesystem::exists(path) && options.id.empty()) {
    std::fputs(options.json.given ? "[]\n" : console_list({}).c_str(), stdout);
    return;
  }
  const record::ResultStore store(path);
  if (!options.id.empty()) return deliver({store.get(options.id)}, options.json);
  std::int64_t unreadable = 0;
  const std::vector<record::Result> results = store.list(options.filter, &unreadable);
  if (unreadable > 0) {
    std::fputs(
        fmt::format("headway: {}: {} results cannot be read and are left out\n", path.string(), unreadable).c_str(),
        stderr);
  }
  if (options.json.given) return deliver_json(results, options.json);
  const bool filtered = !options.filter.kind.empty() || !options.filter.workload.empty();
  std::fputs(results.empty() && filtered ? "no result matches\n" : console_list(results).c_str(), stdout);
}

}  // namespace

void add_results(CLI::App& program) {
  auto options = std::make_shared<ResultsOptions>();
  CLI::App* command = program.add_subcommand("results", "List stored results, or show one");
  command->footer("Example: headway results --workload gpt\n         headway results 20260102");
  command->add_option("ID", options->id, "A result's id or its unique beginning");
  command->add_option("--kind", options->filter.kind, "Only results of this kind: bench, train, predict, to_target")
      ->check(CLI::IsMember({"bench", "train", "predict", "to_target"}));
  command->add_option("--workload", options->filter.workload, "Only results of this workload");
  command->add_option("--limit", options->filter.limit, "At most this many; 0: all")
      ->check(CLI::Range(0, 1000000000))
      ->capture_default_str();
  add_json(*command, options->json);
  command->callback([options] { run_results(*options); });
}

}  // namespace headway::app
