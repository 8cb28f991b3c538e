// headway data: market data into files and out of them.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/cli/command.h"
#include "app/cli/workspace.h"
#include "app/report/words.h"
#include "base/text.h"
#include "data/market/columnar_file.h"
#include "data/market/convert.h"
#include "data/market/simulate.h"

namespace headway::app {
namespace {

std::string plural(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string one_line(const data::ColumnarFile& file) {
  return fmt::format("{}: {}, {} in {}, {}\n", file.path().string(), plural(file.layout().rows, "row"),
                     plural(static_cast<std::int64_t>(file.layout().columns.size()), "column"),
                     plural(static_cast<std::int64_t>(file.layout().segments.size()), "segment"),
                     format_bytes(Bytes(file.file_bytes())));
}

void add_convert(CLI::App& data) {
  auto options = std::make_shared<data::ConvertOptions>();
  auto format = std::make_shared<std::string>("auto");
  auto fill = std::make_shared<std::string>("none");
  CLI::App* command = data.add_subcommand("convert", "CSV or LOBSTER files into one columnar file");
  command->footer(
      "Each CSV file, and each pair of LOBSTER files, becomes one segment (a day), in the\n"
      "order given. A file NAME_orderbook_10.csv belongs to NAME_message_10.csv.\n"
      "Example: headway data convert monday.csv tuesday.csv -o week.hwc --types close=f64\n"
      "         headway data convert AAPL_message_10.csv AAPL_orderbook_10.csv -o aapl.hwc");
  command->add_option("INPUT", options->inputs, "CSV files with a header, or LOBSTER files")->required();
  command->add_option("-o,--output", options->output, "The columnar file")->required()->type_name("FILE");
  command->add_option("--format", *format, "What the inputs are; auto: by their names")
      ->check(CLI::IsMember({"auto", "csv", "lobster"}))
      ->capture_default_str();
  command->add_option("--fill", *fill, "Empty and NaN cells: an error, the value above, 0, or leave out the row")
      ->check(CLI::IsMember({"none", "forward", "zero", "drop"}))
      ->capture_default_str();
  command->add_option("--types", options->types, "Types of columns, NAME=f32|f64|i32|i64|time|skip; default: inferred")
      ->type_name("NAME=TYPE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->callback([options, format, fill] {
    options->format = data::format_from_name(*format);
    options->fill = data::fill_from_name(*fill);
    const auto progress = make_progress();
    options->progress = progress.get();
    const data::ConvertReport report = data::convert(*options);
    std::string text = one_line(data::ColumnarFile(options->output));
    if (report.filled > 0) text += fmt::format("  {} filled\n", plural(report.filled, "cell"));
    if (report.dropped > 0) text += fmt::format("  {} left out\n", plural(report.dropped, "row"));
    for (const std::string& note : report.notes) text += wrapped("  note: " + note, 8);
    std::fputs(text.c_str(), stdout);
  });
}

void add_simulate(CLI::App& data) {
  auto options = std::make_shared<data::SimulateOptions>();
  auto hawkes = std::make_shared<std::string>("poisson");
  CLI::App* command = data.add_subcommand("simulate", "A limit order book, ten levels a side, into a columnar file");
  command->footer("Example: headway data simulate -o lob.hwc --days 10 --seed 1");
  command->add_option("-o,--output", options->output, "The columnar file")->required()->type_name("FILE");
  command->add_option("--days", options->days, "Days; each is a function of the seed and its number")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--rows", options->rows, "Snapshots in a day")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--first-day", options->first_day, "Number of the first day")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--seed", options->lob.seed, "Seed")->capture_default_str();
  command->add_option("--events", options->lob.events_per_row, "Events of the book from one snapshot to the next")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--arrivals", *hawkes, "Arrivals of market orders")
      ->check(CLI::IsMember({"poisson", "hawkes"}))
      ->capture_default_str();
  command->callback([options, hawkes] {
    options->lob.arrivals = *hawkes == "hawkes" ? data::Arrivals::kHawkes : data::Arrivals::kPoisson;
    const auto progress = make_progress();
    data::simulate_book(*options, progress.get());
    std::fputs(one_line(data::ColumnarFile(options->output)).c_str(), stdout);
  });
}

void print_info(const data::ColumnarFile& file) {
  const data::ColumnarLayout& layout = file.layout();
  std::string text = one_line(file);
  text += wrapped("  " + layout.origin, 2);
  for (const DType dtype : data::kColumnTypes) {
    std::string names;
    for (const data::Column& column : layout.columns) {
      if (column.dtype == dtype) names += (names.empty() ? "" : ", ") + column.name;
    }
    if (!names.empty()) text += wrapped(fmt::format("  {}  {}", name_of(dtype), names), 7);
  }
  for (std::size_t segment = 0; segment < layout.segments.size(); ++segment) {
    constexpr std::size_t kShown = 8;
    if (segment == kShown && layout.segments.size() > kShown + 1) {
      text += fmt::format("  ... {} more segments\n", layout.segments.size() - kShown);
      break;
    }
    const std::int64_t end = segment + 1 < layout.segments.size() ? layout.segments[segment + 1] : layout.rows;
    text += fmt::format("  segment {}: rows {} to {}\n", segment, layout.segments[segment], end - 1);
  }
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void add_data(CLI::App& program) {
  CLI::App* data = program.add_subcommand("data", "Market data: convert, simulate, describe, verify");
  data->require_subcommand(1);
  data->footer("Example: headway data simulate -o lob.hwc --days 10");
  add_convert(*data);
  add_simulate(*data);
  auto file = std::make_shared<std::string>();
  CLI::App* info = data->add_subcommand("info", "What is in a columnar file");
  info->footer("Example: headway data info lob.hwc");
  info->add_option("FILE", *file, "A columnar file")->required();
  info->callback([file] { print_info(data::ColumnarFile(*file)); });
  CLI::App* verify = data->add_subcommand("verify", "Reads every byte of a columnar file against its checksum");
  verify->footer("Example: headway data verify lob.hwc");
  verify->add_option("FILE", *file, "A columnar file")->required();
  verify->callback([file] {
    const data::ColumnarFile columnar(*file);
    const auto progress = make_progress();
    columnar.verify(progress.get());
    std::fputs(fmt::format("{}: {} verified\n", *file, format_bytes(Bytes(columnar.file_bytes()))).c_str(), stdout);
  });
}

}  // namespace headway::app
