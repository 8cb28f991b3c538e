#include "models/transformer.h"

#include <fmt/core.h>

#include <cmath>

#include "graph/ops/arithmetic.h"
#include "graph/ops/attention.h"
#include "graph/ops/dropout.h"
#include "graph/ops/embedding.h"
#include "graph/ops/grouped_linear.h"
#include "graph/ops/moe.h"
#include "graph/ops/shape_ops.h"
#include "models/layers.h"

namespace headway::models {

using graph::Graph;
using graph::Initializer;
using graph::MoeRouting;
using graph::ValueId;

void require_heads(const record::ModelConfig& config, std::int64_t hidden, std::int64_t heads) {
  if (hidden % heads == 0) return;
  const record::Option* option = config.find("heads") != nullptr ? config.find("heads") : config.find("hidden");
  throw record::input_error(option != nullptr ? option->where : config.where, "model.heads",
                            fmt::format("{} does not divide hidden {}; take a divisor of {}", heads, hidden, hidden));
}

TransformerInitialisation::TransformerInitialisation(std::int64_t layers)
    : residual{Initializer::Kind::kNormal, 0.02 / std::sqrt(2.0 * static_cast<double>(layers))} {}

TokenIds add_token_inputs(Model& model, std::int64_t batch, std::int64_t sequence, std::int64_t vocab) {
  model.item = "token";
  model.items_per_sample = sequence;
  model.predictions_per_sample = sequence;
  model.sample.sequence = sequence;
  model.sample.vocab = vocab;
  const graph::TensorType ids{DType::kI32, {batch, sequence}};
  const ValueId input = model.graph.add_input("input", ids);
  return {input, model.graph.add_input("target", ids)};
}

TokenInput add_tokens(Model& model, const TokenSizes& sizes, const Initializer& weight) {
  Graph& graph = model.graph;
  TokenInput tokens;
  const auto [input, target] = add_token_inputs(model, sizes.batch, sizes.sequence, sizes.vocab);
  tokens.target = target;
  tokens.table = graph.add_parameter("tok_embedding.weight", {sizes.vocab, sizes.hidden}, weight);
  const ValueId positions = graph.add_parameter("pos_embedding.weight", {sizes.positions, sizes.hidden}, weight);
  scoped(graph, "tok_embedding");
  const ValueId embedded = embedding(graph, tokens.table, input);
  scoped(graph, "pos_embedding");
  tokens.embedded = position_embedding(graph, embedded, positions);
  return tokens;
}

Transformer::Transformer(Graph& graph, const TransformerOptions& options)
    : graph_(graph), options_(options), initialisation_(options.layers) {}

ValueId Transformer::attend(const std::string& name, ValueId x) {
  const std::int64_t hidden = options_.hidden;
  ValueId y = linear_layer(graph_, name + ".qkv", x, 3 * hidden, initialisation_.weight, initialisation_.bias);
  scoped(graph_, name);
  y = attention(graph_, y, {options_.heads, options_.causal});
  return linear_layer(graph_, name + ".proj", y, hidden, initialisation_.residual, initialisation_.bias);
}

ValueId Transformer::feed_forward(const std::string& name, ValueId x) {
  const std::int64_t hidden = graph_.value(x).type.shape[-1];
  ValueId y =
      linear_layer(graph_, name + ".fc1", x, options_.feed_forward, initialisation_.weight, initialisation_.bias);
  scoped(graph_, name + ".gelu");
  y = activation(graph_, y, options_.activation);
  return linear_layer(graph_, name + ".fc2", y, hidden, initialisation_.residual, initialisation_.bias);
}

ValueId Transformer::mixture(const std::string& name, ValueId x) {
  const Shape shape = graph_.value(x).type.shape;
  const std::int64_t hidden = shape[-1], tokens = shape.rows(), experts = options_.experts;
  scoped(graph_, name);
  x = reshape(graph_, x, {tokens, hidden});
  const ValueId logits =
      linear_layer(graph_, name + ".router", x, experts, initialisation_.weight, initialisation_.bias, false);
  scoped(graph_, name + ".route");
  const MoeRouting routing = moe_route(
      graph_, logits,
      {options_.choices, graph::expert_capacity(tokens, experts, options_.choices, options_.capacity_factor)});
  const auto layer = [&](const std::string& part, ValueId rows, std::int64_t n, const Initializer& weight) {
    const std::string full = name + part;
    const std::int64_t k = graph_.value(rows).type.shape[-1];
    scoped(graph_, full);
    const ValueId w = graph_.add_parameter(full + ".weight", {experts, n, k}, weight);
    const ValueId b = graph_.add_parameter(full + ".bias", {experts, n}, initialisation_.bias);
    return grouped_linear(graph_, rows, w, routing.offsets, b);
  };
  scoped(graph_, name + ".dispatch");
  ValueId y = layer(".fc1", moe_dispatch(graph_, x, routing), options_.feed_forward, initialisation_.weight);
  scoped(graph_, name + ".gelu");
  y = activation(graph_, y, options_.activation);
  y = layer(".fc2", y, hidden, initialisation_.residual);
  scoped(graph_, name + ".combine");
  y = moe_combine(graph_, y, routing);
  balance_ = mixtures_ == 0 ? routing.balance : add(graph_, balance_, routing.balance);
  dropped_ = mixtures_ == 0 ? routing.dropped : add(graph_, dropped_, routing.dropped);
  ++mixtures_;
  return reshape(graph_, y, shape);
}

ValueId Transformer::dropped() {
  if (mixtures_ < 2) return dropped_;
  scoped(graph_, "dropped");
  return scale(graph_, dropped_, 1.0 / static_cast<double>(mixtures_));
}

ValueId Transformer::dropout(const std::string& name, ValueId x) {
  if (options_.dropout == 0) return x;
  scoped(graph_, name);
  return graph::dropout(graph_, x, {options_.dropout, next_dropout_stream_++});
}

ValueId Transformer::residual(const std::string& name, ValueId x, ValueId y) {
  scoped(graph_, name);
  return add(graph_, x, y);
}

ValueId Transformer::pre_norm_block(const std::string& name, ValueId x, bool experts) {
  ValueId y = attend(name + ".attn", layernorm_layer(graph_, name + ".norm1", x));
  x = residual(name + ".residual1", x, dropout(name + ".dropout1", y));
  y = layernorm_layer(graph_, name + ".norm2", x);
  y = experts ? mixture(name + ".moe", y) : feed_forward(name + ".mlp", y);
  return residual(name + ".residual2", x, dropout(name + ".dropout2", y));
}

ValueId Transformer::post_norm_block(const std::string& name, ValueId x) {
  ValueId y = dropout(name + ".dropout1", attend(name + ".attn", x));
  x = layernorm_layer(graph_, name + ".norm1", residual(name + ".residual1", x, y));
  y = dropout(name + ".dropout2", feed_forward(name + ".mlp", x));
  return layernorm_layer(graph_, name + ".norm2", residual(name + ".residual2", x, y));
}

}  // namespace headway::models
