#include "app/cli/workspace.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "app/report/console.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/workloads.h"
#include "record/store.h"

#ifndef HEADWAY_REVISION
#define HEADWAY_REVISION "unknown"
#endif

namespace headway::app {

record::Run find_run(const std::string& file_or_name, const std::vector<std::string>& overrides) {
  if (!std::filesystem::exists(file_or_name)) {
    if (auto run = bench::workload_run(file_or_name, overrides)) return *run;
    std::vector<std::string> names;
    for (const bench::Workload& workload : bench::standard_workloads()) names.emplace_back(workload.name);
    throw UserError(fmt::format("{}: no such run file, and no workload of that name{}", file_or_name,
                                suggestion(file_or_name, names)));
  }
  return record::load_run(file_or_name, overrides);
}

std::string workload_name(const std::string& file_or_name) {
  return std::filesystem::path(file_or_name).stem().string();
}

namespace {

Shape sample_shape(const models::Model& model, const char* name) {
  const std::vector<std::int64_t>& dims = model.graph.value(model.graph.find(name)).type.shape.dims();
  return Shape(std::vector<std::int64_t>(dims.begin() + 1, dims.end()));
}

// Windows are as long as the model takes them: [window, features], perhaps with an axis of channels.
data::WindowOptions window_options(const record::Run& run, const models::Model& model) {
  const record::WindowConfig& config = run.data.windows;
  const Shape input = sample_shape(model, "input");
  data::WindowOptions windows;
  windows.window = config.window ? *config.window : input.rank() >= 2 ? input[0] : 1;
  windows.stride = config.stride;
  windows.horizon = config.horizon;
  windows.label = data::label_from_name(record::name_of(config.label));
  windows.alpha = config.alpha;
  windows.normalise = data::normalise_from_name(record::name_of(config.normalise));
  windows.purge = config.purge;
  windows.input_shape = input;
  windows.every_step = sample_shape(model, "target").rank() == 2;
  return windows;
}

}  // namespace

data::Split open_data(const record::Run& run, const models::Model& model) {
  data::SourceOptions options;
  options.name = run.data.source;
  options.valid = run.data.valid_test ? 0 : run.data.valid;
  options.test_set = run.data.valid_test;
  options.seed = static_cast<std::uint64_t>(run.train.seed);
  options.rows = run.data.rows;
  if (model.sample.sequence > 0) options.sequence = model.sample.sequence;
  if (model.sample.vocab > 0) options.vocab = model.sample.vocab;
  if (model.sample.features > 0) options.features = model.sample.features;
  options.rows_per_sample = model.sample.rows;
  if (run.data.path) options.directory = *run.data.path;
  options.days = run.data.windows.days;
  options.arrivals =
      run.data.windows.arrivals == record::ArrivalProcess::kHawkes ? data::Arrivals::kHawkes : data::Arrivals::kPoisson;
  options.price = run.data.windows.price;
  options.windows = window_options(run, model);
  const auto progress = make_progress();
  options.progress = progress.get();
  data::Split split = data::open_source(options);
  if (model.sample.classes > 0 && split.classes > model.sample.classes) {
    throw record::error_at(
        run, "data.source",
        fmt::format("{} has {} classes, the model {} tells {} apart; set model.classes: {}", run.data.source,
                    split.classes, run.model.name, model.sample.classes, split.classes));
  }
  if (run.data.batch > split.train->size()) {
    throw record::error_at(
        run, "data.batch",
        fmt::format("a batch of {} is larger than the data set of {} samples", run.data.batch, split.train->size()));
  }

  // The first thing that would go wrong in a step is said before one is made: the data must have the model's shapes.
  for (const data::Field& field : split.train->fields()) {
    const graph::TensorType& wanted = model.graph.value(model.graph.find(field.name)).type;
    const Shape per_sample = sample_shape(model, field.name.c_str());
    if (field.dtype == wanted.dtype && field.shape == per_sample) continue;
    throw record::error_at(run, "data.source",
                           fmt::format("{} gives {} of {} a sample, the model {} takes {}", run.data.source, field.name,
                                       to_string(graph::TensorType{field.dtype, field.shape}), run.model.name,
                                       to_string(graph::TensorType{wanted.dtype, per_sample})));
  }
  return split;
}

runtime::ForwardBuilder forward_builder(const record::Run& run) {
  return [config = run.model](std::int64_t samples, bool training) {
    return models::build_model(config, samples, training).graph;
  };
}

std::filesystem::path default_cluster_file() {
  return user_data_directory() / "cluster.yaml";
}

std::optional<cluster::Cluster> find_cluster(const std::string& file) {
  const std::filesystem::path path = file.empty() ? default_cluster_file() : std::filesystem::path(file);
  if (file.empty() && !std::filesystem::exists(path)) return std::nullopt;
  return cluster::load_cluster(path.string());
}

record::Result new_result(const std::string& kind, const std::string& workload, const record::Run& run,
                          const backend::Device& device) {
  record::Result result;
  result.kind = kind;
  result.id = record::make_id();
  result.time = record::utc_now();
  result.revision = HEADWAY_REVISION;
  result.machine = record::describe_machine();
  result.workload = workload;
  result.precision = record::name_of(run.train.precision);
  result.threads = device.threads();
  result.device = device.kind();
  return result;
}

void note_dropped(record::Result& result, runtime::Executor& executor) {
  const graph::ValueId dropped = executor.schedule().graph.find("dropped");
  if (dropped == graph::kNoValue) return;
  result.notes.push_back(fmt::format("dropped tokens: {:.2f} % of the choices of the last step found their expert full",
                                     100 * static_cast<double>(executor.floats(dropped)[0])));
}

void store_result(record::Result& result) {
  try {
    record::ResultStore(user_data_directory() / "results.sqlite").add(result);
  } catch (const EnvironmentError& error) {
    result.notes.push_back(fmt::format("not stored: {}", error.what()));
  }
}

void deliver_json(const std::vector<record::Result>& results, const JsonOption& json) {
  const std::string text = (results.size() == 1 ? to_json(results[0]) : to_json(std::span(results))) + "\n";
  if (json.file.empty() || json.file == "-") {
    std::fputs(text.c_str(), stdout);
  } else {
    write_file_atomic(json.file, text);
  }
}

void deliver(const std::vector<record::Result>& results, const JsonOption& json) {
  if (json.given) deliver_json(results, json);
  if (json.given && (json.file.empty() || json.file == "-")) return;
  for (const record::Result& result : results) std::fputs(console_text(result).c_str(), stdout);
}

namespace {

class TerminalProgress final : public Progress {
 public:
  ~TerminalProgress() override {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  void update(std::string_view what, std::int64_t done, std::int64_t total, std::string_view detail) override {
    const Seconds time = now();
    if ((time - last_).value < 0.1 && done != total) return;
    last_ = time;
    drawn_ = true;
    std::string line;
    if (total > 0) {
      constexpr std::int64_t kWidth = 24;
      const std::int64_t filled = kWidth * done / total;
      const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                              std::string(static_cast<std::size_t>(kWidth - filled), '.');
      line = fmt::format("{} [{}] {}/{}  {}", what, bar, done, total, detail);
    } else {
      line = fmt::format("{} {}  {}", what, done, detail);
    }
    if (line.size() > 79) line.resize(79);
    std::fputs(fmt::format("\r\033[K{}", line).c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  Seconds last_{-1.0};
  bool drawn_ = false;
};

}  // namespace

std::unique_ptr<Progress> make_progress() {
  return ::isatty(STDERR_FILENO) == 1 ? std::make_unique<TerminalProgress>() : nullptr;
}

}  // namespace headway::app
