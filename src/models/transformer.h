// The layers of a transformer, shared by the models made of them, with PyTorch's names: "<name>.attn.qkv.weight".
#pragma once

#include <string>

#include "graph/graph.h"
#include "graph/ops/activation.h"
#include "models/model.h"
#include "record/model_config.h"

namespace headway::models {

struct TransformerOptions {
  std::int64_t layers = 1, hidden = 1, heads = 1;
  std::int64_t feed_forward = 1;  // the width inside
  bool causal = true;
  graph::Activation activation = graph::Activation::kGeluTanh;
  double dropout = 0;
  // Mixtures of experts in every second layer; 0: none.
  std::int64_t experts = 0;
  std::int64_t choices = 2;
  double capacity_factor = 1.25;
};

// UserError at the option to blame when `heads` does not divide `hidden`.
void require_heads(const record::ModelConfig& config, std::int64_t hidden, std::int64_t heads);

// The two inputs of a model of tokens, and their embedding with that of their positions.
struct TokenInput {
  graph::ValueId target = graph::kNoValue;
  graph::ValueId table = graph::kNoValue;     // of the tokens: [vocab, hidden]
  graph::ValueId embedded = graph::kNoValue;  // [batch, sequence, hidden]
};

// GPT-2's initialisation (Radford et al. 2019, section 2.3): normal 0.02, the projections that write into the residual
// stream scaled by 1 / sqrt(2 layers), biases zero.
struct TransformerInitialisation {
  graph::Initializer weight{graph::Initializer::Kind::kNormal, 0.02};
  graph::Initializer residual;
  graph::Initializer bias{graph::Initializer::Kind::kFill, 0.0};

  explicit TransformerInitialisation(std::int64_t layers);
};

struct TokenSizes {
  std::int64_t batch = 1, sequence = 1, positions = 1, vocab = 1, hidden = 1;
};

// Says what a sample of tokens is, and adds "input" and "target": [batch, sequence].
struct TokenIds {
  graph::ValueId input = graph::kNoValue, target = graph::kNoValue;
};
TokenIds add_token_inputs(Model& model, std::int64_t batch, std::int64_t sequence, std::int64_t vocab);

// The same, and both embeddings.
TokenInput add_tokens(Model& model, const TokenSizes& sizes, const graph::Initializer& weight);

// Adds the layers of one model to its graph, in order.
class Transformer {
 public:
  Transformer(graph::Graph& graph, const TransformerOptions& options);

  const TransformerInitialisation& initialisation() const { return initialisation_; }

  // x + attention(norm1(x)), then + feed-forward(norm2(.)). x is [batch, sequence, hidden].
  graph::ValueId pre_norm_block(const std::string& name, graph::ValueId x, bool experts = false);

  // norm1(x + attention(x)), then norm2(. + feed-forward(.)).
  graph::ValueId post_norm_block(const std::string& name, graph::ValueId x);

  // The projections around attention; the two layers around the activation.
  graph::ValueId attend(const std::string& name, graph::ValueId x);
  graph::ValueId feed_forward(const std::string& name, graph::ValueId x);

  // The feed-forward layers as a mixture of experts, each with the width `feed_forward`.
  graph::ValueId mixture(const std::string& name, graph::ValueId x);

  // What the mixtures so far want besides their outputs: the sum of their load-balancing losses and the mean share of
  // choices that found an expert full; kNoValue without mixtures.
  graph::ValueId balance() const { return balance_; }
  graph::ValueId dropped();

  graph::ValueId dropout(const std::string& name, graph::ValueId x);
  graph::ValueId residual(const std::string& name, graph::ValueId x, graph::ValueId y);

 private:
  graph::Graph& graph_;
  TransformerOptions options_;
  TransformerInitialisation initialisation_;
  std::int64_t next_dropout_stream_ = 0;
  graph::ValueId balance_ = graph::kNoValue, dropped_ = graph::kNoValue;
  std::int64_t mixtures_ = 0;
};

}  // namespace headway::models
