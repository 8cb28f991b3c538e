// Every subcommand: one function that declares its options and one that runs it. The list is in main.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace headway::app {

// Each adds its subcommand to the program; running it happens in the callback. In the file of its name.
void add_quickstart(CLI::App& program);
void add_probe(CLI::App& program);
void add_train(CLI::App& program);
void add_bench(CLI::App& program);
void add_predict(CLI::App& program);
void add_results(CLI::App& program);
void add_data(CLI::App& program);
void add_compare(CLI::App& program);

// Options that several commands share.
struct JsonOption {
  bool given = false;
  std::string file;  // empty or "-": standard output
};
void add_json(CLI::App& command, JsonOption& json);
void add_threads(CLI::App& command, int& threads);
void add_set(CLI::App& command, std::vector<std::string>& overrides);
void add_without_pass(CLI::App& command, std::vector<std::string>& passes);

}  // namespace headway::app
