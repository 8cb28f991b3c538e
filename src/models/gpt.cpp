#include <fmt/core.h>

#include "graph/ops/arithmetic.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "models/builders.h"
#include "models/layers.h"
#include "models/transformer.h"

namespace headway::models {

using graph::Graph;
using graph::ValueId;

namespace {

// What gpt and moe have in common; the experts of `options` and the weight of their load-balancing loss come from the
// caller, who has checked the names of the options.
Model build(const record::ModelConfig& config, std::int64_t batch, bool training, TransformerOptions options,
            double balance) {
  options.layers = config.get_int("layers", 6, {1, kMostLayers});
  options.hidden = config.get_int("hidden", 384);
  options.heads = config.get_int("heads", 6);
  options.feed_forward = 4 * options.hidden;
  options.dropout = config.get_double("dropout", 0.0, {0.0, 0.99});
  if (!training) options.dropout = 0;
  const std::int64_t sequence = config.get_int("sequence", 256), vocab = config.get_int("vocab", 256);
  const std::int64_t positions = config.get_int("positions", sequence, {sequence});
  const bool tied = config.get_bool("tied", false);
  require_heads(config, options.hidden, options.heads);

  Model model;
  Graph& graph = model.graph;
  Transformer transformer(graph, options);
  const TransformerInitialisation& init = transformer.initialisation();
  const auto [target, tokens, embedded] =
      add_tokens(model, {batch, sequence, positions, vocab, options.hidden}, init.weight);
  ValueId x = transformer.dropout("dropout", embedded);
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    x = transformer.pre_norm_block(fmt::format("layers.{}", layer), x, options.experts > 0 && layer % 2 == 1);
  }
  x = layernorm_layer(graph, "norm", x);
  if (tied) {
    scoped(graph, "head");
    x = linear(graph, x, tokens, graph::kNoValue);
  } else {
    x = linear_layer(graph, "head", x, vocab, init.weight, init.bias, false);
  }
  scoped(graph, "loss");
  ValueId loss = cross_entropy(graph, x, target);
  if (training && transformer.balance() != graph::kNoValue) {
    loss = add(graph, loss, scale(graph, transformer.balance(), balance));
  }
  graph.add_output("loss", loss);
  if (const ValueId dropped = transformer.dropped(); dropped != graph::kNoValue) graph.add_output("dropped", dropped);
  if (!training) graph.add_output("correct", count_correct(graph, x, target));
  return model;
}

}  // namespace

Model build_gpt(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(
      std::array<std::string, 8>{"layers", "hidden", "heads", "sequence", "positions", "vocab", "tied", "dropout"});
  return build(config, batch, training, {}, 0);
}

Model build_moe(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(std::array<std::string, 12>{"layers", "hidden", "heads", "sequence", "positions", "vocab",
                                                   "tied", "dropout", "experts", "choices", "capacity_factor",
                                                   "balance"});
  TransformerOptions options;
  options.experts = config.get_int("experts", 8);
  options.choices = config.get_int("choices", std::min<std::int64_t>(2, options.experts), {1, options.experts});
  options.capacity_factor = config.get_double("capacity_factor", 1.25, {1e-3, 1e3});
  return build(config, batch, training, options, config.get_double("balance", 0.01, {0.0, 1e3}));
}

}  // namespace headway::models
