// The program: declares the subcommands, runs one, turns errors into messages and exit codes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/exit_code.h"
#include "base/error.h"
#include "base/text.h"

namespace {

int report(const char* kind, const char* what, int code) {
  std::fprintf(stderr, "headway: %s%s\n", kind, what);
  return code;
}

// What could not be printed is lost: a full disk or a closed file behind standard output.
int flushed() {
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  return written ? headway::app::kOk
                 : report("", "standard output could not be written", headway::app::kEnvironmentError);
}

// CLI11 says "a subcommand is required" for a misspelt one; the nearest name helps more.
void require_known_command(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names = {"build", "test"};  // the front door's own
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin() + 2, names.end(), argv[1]) != names.end()) return;
  throw headway::UserError("no command '" + std::string(argv[1]) + "'" + headway::suggestion(argv[1], names));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace headway::app;
  CLI::App program("Measures how a machine trains, predicts how long a model takes, and trains it.", "headway");
  program.require_subcommand(1);
  program.get_formatter()->column_width(22);
  program.footer(
      "Also, through ./headway: `build [PRESET]` and `test [--long]`.\n"
      "Every command has --help with an example. Exit codes: 2 wrong input, 3 the\n"
      "environment lacks something, 70 a bug of ours.");
  add_quickstart(program);
  add_probe(program);
  add_train(program);
  add_bench(program);
  add_predict(program);
  add_results(program);
  add_data(program);
  add_compare(program);
  try {
    require_known_command(program, argc, argv);
    program.parse(argc, argv);
    return flushed();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help
      program.exit(error);
      return flushed();
    }
    std::fprintf(stderr, "headway: %s\nheadway: see `headway --help`\n", error.what());
    return kUserError;
  } catch (const headway::UserError& error) {
    return report("", error.what(), kUserError);
  } catch (const headway::EnvironmentError& error) {
    return report("", error.what(), kEnvironmentError);
  } catch (const std::bad_alloc&) {
    return report("", "out of memory; make the batch or the model smaller", kEnvironmentError);
  } catch (const std::exception& error) {
    return report("internal error (please report it): ", error.what(), kInternalError);
  }
}
