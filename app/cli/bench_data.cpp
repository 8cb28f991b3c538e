#include "app/cli/bench_data.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cli/workspace.h"
#include "app/report/words.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "bench/against.h"
#include "bench/ingest.h"
#include "data/market/simulate.h"
#include "data/market/windows.h"

namespace headway::app {
namespace {

constexpr std::int64_t kBatch = 64, kWindow = 100, kHorizon = 50;  // those of the workload deeplob
constexpr double kStep = 0.05;                                     // seconds; a fast step of deeplob on two cores

const std::byte* raw_window(const data::Dataset& dataset, std::int64_t index) {
  return static_cast<const data::MarketWindows&>(dataset).rows_of(index);
}

// A book of two days beside the user's results, made when it is not there: larger than any cache.
std::filesystem::path simulated_file() {
  const std::filesystem::path path = user_data_directory() / "bench_data.hwc";
  if (!std::filesystem::exists(path)) {
    data::SimulateOptions simulate;
    simulate.output = path;
    simulate.days = 4;
    simulate.rows = 250'000;
    const auto progress = make_progress();
    data::simulate_book(simulate, progress.get());
  }
  return path;
}

// What a window's label is costs the same whatever it says: without a mid-price, no price moves.
data::Table open_table(const std::filesystem::path& path) {
  if (data::ColumnarFile(path).find("mid")) return data::columnar_table(path, "mid");
  static constexpr double kStill = 1;
  data::Table table = data::columnar_table(path, data::ColumnarFile(path).layout().columns[0].name);
  table.price = {reinterpret_cast<const std::byte*>(&kStill), 0, DType::kF64};
  return table;
}

const std::filesystem::path& torch_script() {
  static const std::filesystem::path kScript = std::filesystem::path(HEADWAY_SOURCE) / "tools/peers/torch_data.py";
  return kScript;
}

// Before anything is measured.
void require_peer(const BenchData& options) {
  if (!std::filesystem::exists(torch_script())) {
    throw EnvironmentError(fmt::format("--against needs {}, a part of Headway's sources", torch_script().string()));
  }
  bench::require_torch(options.python);
}

double torch_windows_per_s(const BenchData& options, const std::filesystem::path& file) {
  Process process({options.python, torch_script().string(), file.string(), "--window", std::to_string(kWindow),
                   "--horizon", std::to_string(kHorizon), "--batch", std::to_string(kBatch), "--seconds",
                   fmt::format("{}", options.seconds)});
  const std::string line = process.read_line(Seconds(options.seconds + 300));
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("windows_per_s")) {
    throw EnvironmentError(fmt::format("tools/peers/torch_data.py answered '{}'", line));
  }
  process.finish(Seconds(60));
  return json["windows_per_s"].get<double>();
}

}  // namespace

record::Result bench_data(const BenchData& options) {
  if (options.against_torch) require_peer(options);
  const std::filesystem::path path = options.file.empty() ? simulated_file() : std::filesystem::path(options.file);
  const data::Table table = open_table(path);
  const data::WindowSplit split = data::split_windows(table, {.window = kWindow, .horizon = kHorizon});
  bench::IngestOptions ingest;
  ingest.batch = std::min(kBatch, split.train->size());
  ingest.seconds = Seconds(options.seconds);
  ingest.step = Seconds(kStep);
  ingest.loader_cpus = allowed_cpus();
  const auto progress = make_progress();
  ingest.progress = progress.get();
  const bench::IngestMeasurement measured = bench::measure_ingest(*split.train, raw_window, ingest);

  record::Result result;
  result.kind = "bench";
  result.workload = "data";
  result.id = record::make_id();
  result.time = record::utc_now();
  result.machine = record::describe_machine();
  result.precision = "f32";
  result.metrics.items_per_s = measured.windows_per_s;
  result.metrics.item = "window";
  result.metrics.data_wait_share = measured.wait_share;
  result.samples["windows_per_s"] = measured.turns;
  result.samples["rows_per_s"] = {measured.windows_per_s * kWindow};
  result.samples["bytes_per_s"] = {measured.windows_per_s * static_cast<double>(measured.window_bytes)};
  result.samples["copy_bytes_per_s"] = {measured.copies_per_s * static_cast<double>(measured.window_bytes)};
  result.samples["copy_share"] = {measured.copy_share};
  result.samples["wait_ms"] = measured.waits_ms;
  result.notes.push_back(split.train->description());
  if (options.against_torch) {
    const double theirs = torch_windows_per_s(options, path);
    result.samples["torch_windows_per_s"] = {theirs};
    result.samples["torch_ratio"] = {measured.windows_per_s / theirs};
  }
  store_result(result);
  return result;
}

std::string bench_data_text(const record::Result& result) {
  const auto sample = [&](const char* name) { return result.samples.at(name).front(); };
  std::string text = fmt::format("data  bench: windows in random order, batches of {}, one thread\n", kBatch);
  text += fmt::format("  windows     {}/s\n  rows        {}/s\n", format_si(*result.metrics.items_per_s),
                      format_si(sample("rows_per_s")));
  text += fmt::format("  bytes       {:.2f} GB/s, {:.0f} % of a copy of the same windows ({:.2f} GB/s)\n",
                      sample("bytes_per_s") * 1e-9, sample("copy_share") * 100, sample("copy_bytes_per_s") * 1e-9);
  text += fmt::format("  data wait   {:.2f} % of a step of {:.0f} ms\n", *result.metrics.data_wait_share * 100,
                      kStep * 1e3);
  if (result.samples.contains("torch_ratio")) {
    text += fmt::format("  DataLoader  {}/s with 2 workers: {:.1f} x slower\n",
                        format_si(sample("torch_windows_per_s")), sample("torch_ratio"));
  }
  for (const std::string& note : result.notes) text += wrapped("  note: " + note, 8);
  return text;
}

}  // namespace headway::app
