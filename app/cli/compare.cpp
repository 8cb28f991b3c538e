// headway compare: two results, and whether one is faster.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/workspace.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "bench/compare.h"
#include "record/store.h"

namespace headway::app {
namespace {

struct CompareOptions {
  std::string first, second;
  double floor = 0.02;
  JsonOption json;
};

struct Row {
  std::string workload;
  double first_ms = 0, second_ms = 0;
  bench::Comparison comparison;
};

// The results of a JSON file, or the stored one of an id.
std::vector<record::Result> results_of(const std::string& file_or_id) {
  if (std::filesystem::exists(file_or_id)) return record::results_from_json(read_file(file_or_id), file_or_id);
  const std::filesystem::path path = user_data_directory() / "results.sqlite";
  if (!std::filesystem::exists(path)) {
    throw UserError(fmt::format("{}: no such file, and no results are stored yet", file_or_id));
  }
  return {record::ResultStore(path).get(file_or_id)};
}

const std::vector<double>& step_ms(const record::Result& result) {
  const auto found = result.samples.find("step_ms");
  if (found == result.samples.end() || found->second.empty()) {
    throw UserError(fmt::format("{} ({} {}) holds no step times to compare", result.id, result.kind, result.workload));
  }
  return found->second;
}

std::vector<Row> compare(const std::vector<record::Result>& first, const std::vector<record::Result>& second,
                         double floor, std::vector<std::string>& notes) {
  std::vector<Row> rows;
  for (const record::Result& a : first) {
    for (const record::Result& b : second) {
      if (a.workload != b.workload && (first.size() > 1 || second.size() > 1)) continue;
      const std::vector<double>&before = step_ms(a), &after = step_ms(b);
      rows.push_back({a.workload == b.workload ? a.workload : a.workload + " / " + b.workload, a.metrics.step_ms->p50,
                      b.metrics.step_ms->p50, bench::compare_times(before, after, floor)});
      if (a.machine.cpu != b.machine.cpu || a.threads != b.threads || a.precision != b.precision) {
        notes.push_back(fmt::format("{}: {}, {} threads, {} beside {}, {} threads, {}", a.workload, a.machine.cpu,
                                    a.threads, a.precision, b.machine.cpu, b.threads, b.precision));
      }
    }
  }
  if (rows.empty()) throw UserError("compare: the two have no workload in common");
  return rows;
}

std::string text_of(const std::vector<Row>& rows, const std::vector<std::string>& notes) {
  std::string out = fmt::format("{:<16}{:>9}{:>9}{:>7}  {:<14}{:>7}  {}\n", "workload", "A ms", "B ms", "A / B",
                                "95 % interval", "floor", "B is");
  double logs = 0;
  for (const Row& row : rows) {
    const bench::Comparison& c = row.comparison;
    logs += std::log(c.ratio);
    out += fmt::format("{:<16}{:>9.4g}{:>9.4g}{:>7.3f}  {:<14}{:>5.1f} %  {}\n", row.workload.substr(0, 15),
                       row.first_ms, row.second_ms, c.ratio, fmt::format("{:.3f} to {:.3f}", c.low, c.high),
                       c.noise_floor * 100, name_of(c.verdict));
  }
  if (rows.size() > 1) {
    out += fmt::format("{:<34}{:>7.3f}\n", "geometric mean", std::exp(logs / static_cast<double>(rows.size())));
  }
  for (const std::string& note : notes) out += fmt::format("note: {}\n", note);
  return out;
}

std::string json_of(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const bench::Comparison& c = row.comparison;
    list.push_back({{"workload", row.workload},
                    {"a_ms", row.first_ms},
                    {"b_ms", row.second_ms},
                    {"ratio", c.ratio},
                    {"low", c.low},
                    {"high", c.high},
                    {"noise_floor", c.noise_floor},
                    {"verdict", name_of(c.verdict)}});
  }
  return list.dump(2) + "\n";
}

void run_compare(const CompareOptions& options) {
  std::vector<std::string> notes;
  const std::vector<Row> rows = compare(results_of(options.first), results_of(options.second), options.floor, notes);
  const bool to_file = !options.json.file.empty() && options.json.file != "-";
  if (options.json.given && to_file) write_file_atomic(options.json.file, json_of(rows));
  std::fputs((options.json.given && !to_file ? json_of(rows) : text_of(rows, notes)).c_str(), stdout);
}

}  // namespace

void add_compare(CLI::App& program) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = program.add_subcommand("compare", "Compare the step times of two results");
  command->footer(
      "Example: headway compare before.json after.json\n"
      "Two runs at different times also differ by what else the machine did; what is\n"
      "measured in turns (bench --against) does not.");
  command->add_option("A", options->first, "A result's id, or a file that --json wrote")->required();
  command->add_option("B", options->second, "The other one")->required();
  command->add_option("--floor", options->floor, "A smaller relative difference than this is none")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  add_json(*command, options->json);
  command->callback([options] { run_compare(*options); });
}

}  // namespace headway::app
