// The cross-section of a market: the instruments of one day are the tokens of one sample. They have no order, so there
// are no positions, and every instrument attends to all.
#include <fmt/core.h>

#include "graph/ops/loss.h"
#include "models/builders.h"
#include "models/layers.h"
#include "models/transformer.h"

namespace headway::models {

using graph::Graph;
using graph::ValueId;

Model build_xs_transformer(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(std::array<std::string, 6>{"instruments", "features", "layers", "hidden", "heads", "dropout"});
  TransformerOptions options;
  options.layers = config.get_int("layers", 4, {1, kMostLayers});
  options.hidden = config.get_int("hidden", 256);
  options.heads = config.get_int("heads", 4);
  options.feed_forward = 4 * options.hidden;
  options.causal = false;
  options.activation = graph::Activation::kGeluErf;
  options.dropout = training ? config.get_double("dropout", 0.0, {0.0, 0.99}) : 0;
  const std::int64_t instruments = config.get_int("instruments", 1000), features = config.get_int("features", 64);
  require_heads(config, options.hidden, options.heads);

  Model model;
  model.item = "row";
  model.items_per_sample = instruments;
  model.sample.features = features;
  model.sample.rows = instruments;
  Graph& graph = model.graph;
  Transformer transformer(graph, options);
  ValueId x = graph.add_input("input", {DType::kF32, {batch, instruments, features}});
  const ValueId target = graph.add_input("target", {DType::kF32, {batch, instruments, 1}});
  x = transformer.dropout("dropout", linear_layer(graph, "embed", x, options.hidden));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    x = transformer.pre_norm_block(fmt::format("layers.{}", layer), x);
  }
  x = linear_layer(graph, "head", layernorm_layer(graph, "norm", x), 1);
  scoped(graph, "loss");
  graph.add_output("loss", mse(graph, x, target));
  return model;
}

}  // namespace headway::models
