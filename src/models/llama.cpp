// Llama (Touvron et al. 2023; grouped heads as from the second version on): pre-norm layers with RMSNorm, rotary
// positions, attention with fewer heads of keys and values than of queries, SwiGLU, and no bias anywhere.
#include <fmt/format.h>

#include "graph/ops/arithmetic.h"
#include "graph/ops/attention.h"
#include "graph/ops/embedding.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "graph/ops/rotary.h"
#include "graph/ops/swiglu.h"
#include "models/builders.h"
#include "models/layers.h"
#include "models/transformer.h"

namespace headway::models {

using graph::Graph;
using graph::ValueId;

namespace {

struct Sizes {
  std::int64_t layers = 1, hidden = 1, heads = 1, kv_heads = 1, feed_forward = 1;
  double theta = 10000, eps = 1e-5;
};

// Adds the layers of one model to its graph, in order.
class Llama {
 public:
  Llama(Graph& graph, const Sizes& sizes) : graph_(graph), sizes_(sizes), initialisation_(sizes.layers) {}

  const TransformerInitialisation& initialisation() const { return initialisation_; }
  ValueId norm(const std::string& name, ValueId x) { return rmsnorm_layer(graph_, name, x, sizes_.eps); }
  ValueId linear(const std::string& name, ValueId x, std::int64_t n) {
    return product(name, x, n, initialisation_.weight);
  }

  ValueId layer(const std::string& name, ValueId x) {
    x = sum(name + ".residual1", x, attend(name + ".attn", norm(name + ".norm1", x)));
    return sum(name + ".residual2", x, feed_forward(name + ".mlp", norm(name + ".norm2", x)));
  }

 private:
  ValueId product(const std::string& name, ValueId x, std::int64_t n, const graph::Initializer& weight) {
    return linear_layer(graph_, name, x, n, weight, initialisation_.bias, false);
  }

  // Queries, keys and values are one product; both of the first are rotated.
  ValueId attend(const std::string& name, ValueId x) {
    const std::int64_t size = sizes_.hidden / sizes_.heads;
    ValueId y = linear(name + ".qkv", x, (sizes_.heads + 2 * sizes_.kv_heads) * size);
    scoped(graph_, name + ".rotary");
    y = rotary(graph_, y, {sizes_.heads + sizes_.kv_heads, size, sizes_.theta});
    scoped(graph_, name);
    y = attention(graph_, y, {sizes_.heads, true, sizes_.kv_heads});
    return product(name + ".proj", y, sizes_.hidden, initialisation_.residual);
  }

  ValueId feed_forward(const std::string& name, ValueId x) {
    const ValueId gate = linear(name + ".gate", x, sizes_.feed_forward);
    const ValueId up = linear(name + ".up", x, sizes_.feed_forward);
    scoped(graph_, name + ".swiglu");
    return product(name + ".down", swiglu(graph_, gate, up), sizes_.hidden, initialisation_.residual);
  }

  ValueId sum(const std::string& name, ValueId x, ValueId y) {
    scoped(graph_, name);
    return add(graph_, x, y);
  }

  Graph& graph_;
  Sizes sizes_;
  TransformerInitialisation initialisation_;
};

// Two thirds of four times the width, which keeps the parameters of a feed-forward layer without a gate, rounded up.
std::int64_t usual_feed_forward(std::int64_t hidden) {
  return (8 * hidden / 3 + 255) / 256 * 256;
}

void require_kv_heads(const record::ModelConfig& config, std::int64_t heads, std::int64_t kv_heads) {
  if (heads % kv_heads == 0) return;
  const record::Option* option = config.find("kv_heads") != nullptr ? config.find("kv_heads") : config.find("heads");
  throw record::input_error(option != nullptr ? option->where : config.where, "model.kv_heads",
                            fmt::format("{} does not divide heads {}; take a divisor of {}", kv_heads, heads, heads));
}

void require_even_heads(const record::ModelConfig& config, std::int64_t size) {
  if (size % 2 == 0) return;
  const record::Option* option = config.find("heads") != nullptr ? config.find("heads") : config.find("hidden");
  throw record::input_error(option != nullptr ? option->where : config.where, "model.heads",
                            fmt::format("a head has hidden / heads = {} channels, which rotary positions turn in "
                                        "pairs; take heads that leave an even number",
                                        size));
}

}  // namespace

Model build_llama(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(std::array<std::string, 9>{"layers", "hidden", "heads", "kv_heads", "feed_forward", "sequence",
                                                  "vocab", "theta", "tied"});
  Sizes sizes;
  sizes.layers = config.get_int("layers", 16, {1, kMostLayers});
  sizes.hidden = config.get_int("hidden", 2048);
  sizes.heads = config.get_int("heads", 32);
  sizes.kv_heads = config.get_int("kv_heads", sizes.heads % 8 == 0 ? 8 : sizes.heads);
  sizes.feed_forward = config.get_int("feed_forward", usual_feed_forward(sizes.hidden));
  sizes.theta = config.get_double("theta", 10000, {1.0, 1e9});
  const std::int64_t sequence = config.get_int("sequence", 256), vocab = config.get_int("vocab", 32000);
  const bool tied = config.get_bool("tied", false);
  require_heads(config, sizes.hidden, sizes.heads);
  require_kv_heads(config, sizes.heads, sizes.kv_heads);
  require_even_heads(config, sizes.hidden / sizes.heads);

  Model model;
  Graph& graph = model.graph;
  Llama llama(graph, sizes);
  const auto [input, target] = add_token_inputs(model, batch, sequence, vocab);
  const ValueId table =
      graph.add_parameter("tok_embedding.weight", {vocab, sizes.hidden}, llama.initialisation().weight);
  scoped(graph, "tok_embedding");
  ValueId x = embedding(graph, table, input);
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) x = llama.layer(fmt::format("layers.{}", layer), x);
  x = llama.norm("norm", x);
  if (tied) {
    scoped(graph, "head");
    x = linear(graph, x, table, graph::kNoValue);
  } else {
    x = llama.linear("head", x, vocab);
  }
  scoped(graph, "loss");
  graph.add_output("loss", cross_entropy(graph, x, target));
  if (!training) graph.add_output("correct", count_correct(graph, x, target));
  return model;
}

}  // namespace headway::models
