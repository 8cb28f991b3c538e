#include "runtime/checkpoint.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "runtime/safetensors.h"

namespace headway::runtime {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kSchema = "headway.checkpoint/1";
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kStateFile = "state.safetensors";

std::vector<graph::ValueId> given_values(const graph::Graph& graph, graph::Role role) {
  std::vector<graph::ValueId> values;
  for (std::size_t index = 0; index < graph.values().size(); ++index) {
    const graph::Value& value = graph.values()[index];
    if (value.role == role && value.producer == graph::kNoNode) values.push_back(static_cast<graph::ValueId>(index));
  }
  return values;
}

std::vector<TensorView> tensors_of(Executor& executor, graph::Role role) {
  std::vector<TensorView> tensors;
  const graph::Graph& graph = executor.schedule().graph;
  for (const graph::ValueId id : given_values(graph, role)) {
    const graph::Value& value = graph.value(id);
    tensors.push_back({value.name, value.type.dtype, value.type.shape, executor.bytes(id)});
  }
  return tensors;
}

// Copies the file's tensors into the executor's values of that role; both must hold the same names and shapes.
void fill(Executor& executor, graph::Role role, const SafetensorsFile& file) {
  const graph::Graph& graph = executor.schedule().graph;
  const std::vector<graph::ValueId> values = given_values(graph, role);
  for (const graph::ValueId id : values) {
    const graph::Value& value = graph.value(id);
    const TensorView* tensor = file.find(value.name);
    if (tensor == nullptr) {
      throw UserError(fmt::format("{}: has no tensor '{}' {}, which the model needs", file.path(), value.name,
                                  to_string(value.type)));
    }
    if (tensor->dtype != value.type.dtype || tensor->shape != value.type.shape) {
      throw UserError(fmt::format("{}: tensor '{}' is {}, the model needs {}", file.path(), value.name,
                                  to_string(graph::TensorType{tensor->dtype, tensor->shape}), to_string(value.type)));
    }
    std::memcpy(executor.bytes(id).data(), tensor->bytes.data(), tensor->bytes.size());
  }
  for (const TensorView& tensor : file.tensors()) {
    if (tensor.name.ends_with(".num_batches_tracked")) continue;  // PyTorch counts them for a momentum of None
    const bool known = std::any_of(values.begin(), values.end(),
                                   [&](graph::ValueId id) { return graph.value(id).name == tensor.name; });
    if (!known) throw UserError(fmt::format("{}: tensor '{}' is not in the model", file.path(), tensor.name));
  }
}

void require_finite(const std::vector<TensorView>& tensors, std::int64_t step) {
  for (const TensorView& tensor : tensors) {
    const auto* data = reinterpret_cast<const float*>(tensor.bytes.data());
    if (std::all_of(data, data + tensor.shape.elements(), [](float value) { return std::isfinite(value); })) continue;
    throw UserError(
        fmt::format("step {}: '{}' has values that are not finite; no checkpoint is written, the older "
                    "ones stay; lower train.optimizer.lr or set train.clip",
                    step, tensor.name));
  }
}

std::optional<std::int64_t> step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || rest != end) return std::nullopt;
  return step;
}

}  // namespace

CheckpointFolder::CheckpointFolder(fs::path folder, std::int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

std::vector<std::pair<std::int64_t, fs::path>> CheckpointFolder::complete() const {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto step = step_of(entry->path())) found.emplace_back(*step, entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void CheckpointFolder::create() const {
  write_file_atomic(folder_ / "README", "Checkpoints of `headway train`; step-<n> is complete or absent.\n");
}

std::optional<fs::path> CheckpointFolder::newest() const {
  const auto all = complete();
  if (all.empty()) return std::nullopt;
  return all.back().second;
}

void CheckpointFolder::save(Executor& executor, const Progression& progression, const std::string& run_yaml) {
  const std::vector<TensorView> parameters = tensors_of(executor, graph::Role::kParameter);
  const std::vector<TensorView> states = tensors_of(executor, graph::Role::kState);
  require_finite(parameters, progression.step);
  require_finite(states, progression.step);

  std::error_code error;
  const fs::path beside = folder_ / fmt::format("writing-{}-{}", progression.step, ::getpid());
  fs::create_directories(beside, error);
  if (error) throw EnvironmentError(fmt::format("cannot create the folder {}: {}", beside.string(), error.message()));
  try {
    json index = {{"schema", kSchema},        {"step", progression.step}, {"position", progression.position},
                  {"loss", progression.loss}, {"run", run_yaml},          {"files", json::object()}};
    index["files"][kModelFile] = write_safetensors(beside / kModelFile, parameters);
    index["files"][kStateFile] = write_safetensors(beside / kStateFile, states);
    write_file_atomic(beside / "index.json", index.dump(2));
    sync_directory(beside);
    const fs::path target = folder_ / fmt::format("step-{:08}", progression.step);
    // A run that was resumed from an earlier step saves the same step again: the old one goes once the new is whole.
    const fs::path old = folder_ / fmt::format("old-{}-{}", progression.step, ::getpid());
    if (fs::exists(target)) fs::rename(target, old);
    fs::rename(beside, target);
    sync_directory(folder_);
  } catch (const fs::filesystem_error& failure) {
    fs::remove_all(beside, error);
    throw EnvironmentError(fmt::format("cannot save the checkpoint of step {} in {}: {}", progression.step,
                                       folder_.string(), failure.code().message()));
  } catch (const EnvironmentError& failure) {
    fs::remove_all(beside, error);
    throw EnvironmentError(
        fmt::format("{}; the checkpoint of step {} was not saved, the older ones stay: mend that and "
                    "go on with --resume",
                    failure.what(), progression.step));
  } catch (...) {
    fs::remove_all(beside, error);
    throw;
  }

  auto all = complete();
  for (std::size_t index = 0; index + static_cast<std::size_t>(keep_) < all.size(); ++index) {
    fs::remove_all(all[index].second, error);
  }
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (name.starts_with("writing-") || name.starts_with("old-")) fs::remove_all(entry->path(), ignored);
  }
}

LoadedCheckpoint load_checkpoint(const fs::path& checkpoint, Executor& executor,
                                 const std::function<void(const std::string& run_yaml)>& accept) {
  const fs::path index_path = checkpoint / "index.json";
  const auto damaged = [&](const fs::path& file, const std::string& why) {
    return UserError(fmt::format("{}: damaged checkpoint: {}; remove {} to go on from an older one", file.string(), why,
                                 checkpoint.string()));
  };
  if (!fs::exists(index_path)) throw damaged(index_path, "it is missing");
  const json index = json::parse(read_file(index_path), nullptr, false);
  if (!index.is_object()) throw damaged(index_path, "no JSON object");
  LoadedCheckpoint loaded;
  std::map<std::string, std::uint32_t> files;
  try {
    const auto schema = index.at("schema").get<std::string>();
    if (schema != kSchema) {
      throw UserError(fmt::format("{}: schema '{}', this version reads '{}'", index_path.string(), schema, kSchema));
    }
    loaded.progression = {index.at("step").get<std::int64_t>(), index.at("position").get<std::int64_t>(),
                          index.at("loss").get<double>()};
    loaded.run_yaml = index.at("run").get<std::string>();
    files = index.at("files").get<std::map<std::string, std::uint32_t>>();
  } catch (const json::exception& error) {
    throw damaged(index_path, error.what());
  }
  const Progression& saved = loaded.progression;
  if (saved.step < 0 || saved.position < 0 || step_of(checkpoint).value_or(saved.step) != saved.step) {
    throw damaged(index_path, fmt::format("it says step {}, position {}", saved.step, saved.position));
  }
  if (accept) accept(loaded.run_yaml);
  for (const auto& [name, role] : {std::pair{kModelFile, graph::Role::kParameter}, {kStateFile, graph::Role::kState}}) {
    const SafetensorsFile file = [&, file_name = name] {
      try {
        return SafetensorsFile(checkpoint / file_name);
      } catch (const UserError& error) {
        throw damaged(checkpoint / file_name, error.what());
      }
    }();
    const auto known = files.find(name);
    if (known == files.end() || known->second != file.crc()) throw damaged(checkpoint / name, "wrong checksum");
    fill(executor, role, file);
  }
  return loaded;
}

void save_parameters(const fs::path& path, Executor& executor) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) {
    throw EnvironmentError(
        fmt::format("cannot create the folder {}: {}", path.parent_path().string(), error.message()));
  }
  write_safetensors(path, tensors_of(executor, graph::Role::kParameter), {{"format", "pt"}});
}

void load_parameters(const fs::path& path, Executor& executor) {
  fill(executor, graph::Role::kParameter, SafetensorsFile(path));
}

}  // namespace headway::runtime
