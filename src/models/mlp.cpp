#include <fmt/core.h>

#include "graph/ops/activation.h"
#include "graph/ops/loss.h"
#include "models/builders.h"
#include "models/layers.h"

namespace headway::models {

Model build_mlp(const record::ModelConfig& config, std::int64_t batch, bool) {
  config.require_known(std::array<std::string, 3>{"features", "width", "layers"});
  const std::int64_t features = config.get_int("features", 130), width = config.get_int("width", 512);
  const std::int64_t layers = config.get_int("layers", 3, {1, kMostLayers});

  Model model;
  model.item = "row";
  model.sample.features = features;
  graph::Graph& graph = model.graph;
  graph::ValueId x = graph.add_input("input", {DType::kF32, {batch, features}});
  const graph::ValueId target = graph.add_input("target", {DType::kF32, {batch, 1}});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string name = fmt::format("layers.{}", layer);
    x = linear_layer(graph, name + ".linear", x, width);
    x = layernorm_layer(graph, name + ".norm", x);
    scoped(graph, name + ".gelu");
    x = activation(graph, x, graph::Activation::kGeluErf);
  }
  x = linear_layer(graph, "head", x, 1);
  scoped(graph, "loss");
  graph.add_output("loss", mse(graph, x, target));
  return model;
}

}  // namespace headway::models
