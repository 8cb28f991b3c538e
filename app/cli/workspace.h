// What the commands share: runs by file or name, the user's files, the measured cluster, results on their way out.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "backend/device.h"
#include "base/progress.h"
#include "cluster/cluster.h"
#include "data/source.h"
#include "models/model.h"
#include "record/result.h"
#include "record/run.h"
#include "runtime/session.h"

namespace headway::app {

// A run file's path, or the name of a standard workload. UserError naming the nearest workload when it is neither.
record::Run find_run(const std::string& file_or_name, const std::vector<std::string>& overrides);

// "gpt_kjv" of "models/gpt_kjv.yaml", or the workload's name.
std::string workload_name(const std::string& file_or_name);

// The data that a run names, for a model of these shapes.
data::Split open_data(const record::Run& run, const models::Model& model);

// build_model of a run as the session wants it.
runtime::ForwardBuilder forward_builder(const record::Run& run);

// Where `probe` writes and every command looks.
std::filesystem::path default_cluster_file();
// The cluster of `file`, or the user's own when it is empty; nothing when that was never measured.
std::optional<cluster::Cluster> find_cluster(const std::string& file);

// A result with machine, time, id and revision filled in.
record::Result new_result(const std::string& kind, const std::string& workload, const record::Run& run,
                          const backend::Device& device);

// After a step of a mixture of experts: a note of the share of choices that found their expert full.
void note_dropped(record::Result& result, runtime::Executor& executor);

// Stores a result for this user; a store that cannot be written becomes a note of the result, not a failure.
void store_result(record::Result& result);

// Prints or writes results: tables to standard output, or JSON where asked.
void deliver(const std::vector<record::Result>& results, const JsonOption& json);
// JSON alone: one object, or a list when there is not exactly one.
void deliver_json(const std::vector<record::Result>& results, const JsonOption& json);

// A progress line on standard error; draws nothing when that is no terminal.
std::unique_ptr<Progress> make_progress();

}  // namespace headway::app
