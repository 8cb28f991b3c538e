#include <fmt/core.h>

#include "graph/ops/loss.h"
#include "graph/ops/recurrent.h"
#include "models/builders.h"
#include "models/layers.h"

namespace headway::models {

Model build_lstm(const record::ModelConfig& config, std::int64_t batch, bool) {
  config.require_known(std::array<std::string, 5>{"steps", "features", "hidden", "layers", "cell"});
  const std::int64_t steps = config.get_int("steps", 60), features = config.get_int("features", 20);
  const std::int64_t hidden = config.get_int("hidden", 64), layers = config.get_int("layers", 2, {1, kMostLayers});
  const std::string cell = config.get_choice("cell", "lstm", std::array<std::string, 2>{"lstm", "gru"});

  Model model;
  model.item = "window";
  model.sample.features = features;
  model.sample.sequence = steps;
  graph::Graph& graph = model.graph;
  graph::ValueId x = graph.add_input("input", {DType::kF32, {batch, steps, features}});
  const graph::ValueId target = graph.add_input("target", {DType::kF32, {batch, 1}});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    x = recurrent_layer(graph, cell, layer, x, hidden, {graph::cell_from_name(cell), layer + 1 == layers});
  }
  x = linear_layer(graph, "head", x, 1);
  scoped(graph, "loss");
  graph.add_output("loss", mse(graph, x, target));
  return model;
}

}  // namespace headway::models
