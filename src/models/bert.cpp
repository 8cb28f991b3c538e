// BERT's encoder (Devlin et al. 2018): normalisation after each residual sum, every token attends to all, and a head
// that predicts tokens, tied to the embedding. One segment, so there are no segment embeddings; the loss is over all
// tokens, masked or not: which are masked is the data's business.
#include <fmt/core.h>

#include "graph/ops/activation.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "models/builders.h"
#include "models/layers.h"
#include "models/transformer.h"

namespace headway::models {

using graph::Graph;
using graph::ValueId;

Model build_bert(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(
      std::array<std::string, 7>{"layers", "hidden", "heads", "sequence", "positions", "vocab", "dropout"});
  TransformerOptions options;
  options.layers = config.get_int("layers", 12, {1, kMostLayers});
  options.hidden = config.get_int("hidden", 768);
  options.heads = config.get_int("heads", 12);
  options.feed_forward = 4 * options.hidden;
  options.causal = false;
  options.activation = graph::Activation::kGeluErf;
  options.dropout = config.get_double("dropout", 0.0, {0.0, 0.99});
  if (!training) options.dropout = 0;
  const std::int64_t sequence = config.get_int("sequence", 128), vocab = config.get_int("vocab", 30522);
  const std::int64_t positions = config.get_int("positions", std::max<std::int64_t>(sequence, 512), {sequence});
  require_heads(config, options.hidden, options.heads);

  Model model;
  Graph& graph = model.graph;
  Transformer transformer(graph, options);
  const TransformerInitialisation& init = transformer.initialisation();
  const auto [target, tokens, embedded] =
      add_tokens(model, {batch, sequence, positions, vocab, options.hidden}, init.weight);
  ValueId x = transformer.dropout("dropout", layernorm_layer(graph, "embed_norm", embedded));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    x = transformer.post_norm_block(fmt::format("layers.{}", layer), x);
  }
  x = linear_layer(graph, "transform", x, options.hidden, init.weight, init.bias);
  scoped(graph, "transform.gelu");
  x = activation(graph, x, options.activation);
  x = layernorm_layer(graph, "norm", x);
  scoped(graph, "head");
  x = linear(graph, x, tokens, graph.add_parameter("head.bias", {vocab}, init.bias));
  scoped(graph, "loss");
  graph.add_output("loss", cross_entropy(graph, x, target));
  if (!training) graph.add_output("correct", count_correct(graph, x, target));
  return model;
}

}  // namespace headway::models
