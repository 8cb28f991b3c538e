#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/attention.h"
#include "graph/ops/dropout.h"
#include "graph/ops/embedding.h"
#include "graph/ops/loss.h"
#include "models/builders.h"
#include "models/layers.h"

namespace headway::models {
namespace {

using graph::Graph;
using graph::Initializer;
using graph::ValueId;

// GPT-2's initialisation (Radford et al. 2019, section 2.3): normal 0.02, the projections that write into the
// residual stream scaled by 1 / sqrt(2 layers), biases zero.
struct Initialisation {
  Initializer weight{Initializer::Kind::kNormal, 0.02};
  Initializer residual;
  Initializer bias{Initializer::Kind::kFill, 0.0};

  explicit Initialisation(std::int64_t layers)
      : residual{Initializer::Kind::kNormal, 0.02 / std::sqrt(2.0 * static_cast<double>(layers))} {}
};

struct Dropouts {
  double p = 0;
  std::int64_t next_stream = 0;

  ValueId apply(Graph& graph, ValueId x, const std::string& name) {
    if (p == 0) return x;
    scoped(graph, name);
    return dropout(graph, x, {p, next_stream++});
  }
};

ValueId block(Graph& graph, const std::string& name, ValueId x, std::int64_t heads, const Initialisation& init,
              Dropouts& dropouts) {
  const std::int64_t hidden = graph.value(x).type.shape[-1];
  ValueId y = layernorm_layer(graph, name + ".norm1", x);
  y = linear_layer(graph, name + ".attn.qkv", y, 3 * hidden, init.weight, init.bias);
  scoped(graph, name + ".attn");
  y = attention(graph, y, {heads, true});
  y = linear_layer(graph, name + ".attn.proj", y, hidden, init.residual, init.bias);
  y = dropouts.apply(graph, y, name + ".dropout1");
  scoped(graph, name + ".residual1");
  x = add(graph, x, y);

  y = layernorm_layer(graph, name + ".norm2", x);
  y = linear_layer(graph, name + ".mlp.fc1", y, 4 * hidden, init.weight, init.bias);
  scoped(graph, name + ".mlp.gelu");
  y = activation(graph, y, graph::Activation::kGeluTanh);
  y = linear_layer(graph, name + ".mlp.fc2", y, hidden, init.residual, init.bias);
  y = dropouts.apply(graph, y, name + ".dropout2");
  scoped(graph, name + ".residual2");
  return add(graph, x, y);
}

}  // namespace

Model build_gpt(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(std::array<std::string, 6>{"layers", "hidden", "heads", "sequence", "vocab", "dropout"});
  const std::int64_t layers = config.get_int("layers", 6, {1, kMostLayers}), hidden = config.get_int("hidden", 384);
  const std::int64_t heads = config.get_int("heads", 6), sequence = config.get_int("sequence", 256);
  const std::int64_t vocab = config.get_int("vocab", 256);
  const double p = config.get_double("dropout", 0.0, {0.0, 0.99});
  if (hidden % heads != 0) {
    const record::Option* option = config.find("heads") != nullptr ? config.find("heads") : config.find("hidden");
    throw record::input_error(option != nullptr ? option->where : config.where, "model.heads",
                              fmt::format("{} does not divide hidden {}; take a divisor of {}", heads, hidden, hidden));
  }

  Model model;
  model.item = "token";
  model.items_per_sample = sequence;
  model.predictions_per_sample = sequence;
  model.sample.sequence = sequence;
  model.sample.vocab = vocab;
  Graph& graph = model.graph;
  const Initialisation init(layers);
  Dropouts dropouts{training ? p : 0.0, 0};
  const ValueId input = graph.add_input("input", {DType::kI32, {batch, sequence}});
  const ValueId target = graph.add_input("target", {DType::kI32, {batch, sequence}});
  const ValueId tokens = graph.add_parameter("tok_embedding.weight", {vocab, hidden}, init.weight);
  const ValueId positions = graph.add_parameter("pos_embedding.weight", {sequence, hidden}, init.weight);

  scoped(graph, "tok_embedding");
  ValueId x = embedding(graph, tokens, input);
  scoped(graph, "pos_embedding");
  x = add(graph, x, positions);
  x = dropouts.apply(graph, x, "dropout");
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    x = block(graph, fmt::format("layers.{}", layer), x, heads, init, dropouts);
  }
  x = layernorm_layer(graph, "norm", x);
  x = linear_layer(graph, "head", x, vocab, init.weight, init.bias, false);
  scoped(graph, "loss");
  graph.add_output("loss", cross_entropy(graph, x, target));
  if (!training) graph.add_output("correct", count_correct(graph, x, target));
  return model;
}

}  // namespace headway::models
