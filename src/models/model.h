// The standard models (docs/architecture.md, workloads) as forward graphs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "record/model_config.h"

namespace headway::models {

// What a data source must know of a model; 0 where it does not apply.
struct SampleShape {
  std::int64_t features = 0;
  std::int64_t rows = 0;  // a sample is that many rows of features; 0: one row
  std::int64_t sequence = 0;
  std::int64_t vocab = 0;
  std::int64_t classes = 0;
};

// A forward graph: inputs "input" and "target", outputs "loss" (a scalar) and, for classifiers, "correct" (a count).
struct Model {
  graph::Graph graph;
  SampleShape sample;
  std::string item;  // what throughput counts: "row", "token", "image"
  std::int64_t items_per_sample = 1;
  std::int64_t predictions_per_sample = 1;  // what "correct" counts at most, a sample
};

// `training` keeps dropout, and leaves "correct" out: it is not part of a training step.
Model build_model(const record::ModelConfig& config, std::int64_t batch, bool training);

// Running statistics are not counted.
std::int64_t parameter_count(const graph::Graph& graph);

// One line of the list of models: its name, what it is, and its builder.
struct ModelRow {
  std::string_view name;
  std::string_view what;
  Model (*build)(const record::ModelConfig& config, std::int64_t batch, bool training);
};
std::span<const ModelRow> all_models();

}  // namespace headway::models
