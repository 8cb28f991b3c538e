// The standard workloads (docs/architecture.md): fixed models and batches, so that results compare across machines.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/dataset.h"
#include "models/model.h"
#include "record/run.h"

namespace headway::bench {

struct Workload {
  std::string_view name;
  std::string_view what;
  std::string_view run_yaml;  // a run file
  std::int64_t parameters;    // asserted when it is built
};

std::span<const Workload> standard_workloads();

// The run of a workload's name with overrides; nothing for another name.
std::optional<record::Run> workload_run(const std::string& name, const std::vector<std::string>& overrides);

// Random samples of the shapes that a model takes: for measuring time, not for learning.
std::unique_ptr<data::Dataset> random_dataset(const models::Model& model, std::int64_t batch);

}  // namespace headway::bench
