#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/ops/optimizer.h"
#include "graph/passes/pass.h"
#include "models/model.h"

namespace headway::models {
namespace {

record::ModelConfig config_of(const std::string& name) {
  record::ModelConfig config;
  config.name = name;
  return config;
}

record::ModelConfig gpt2() {
  record::ModelConfig config = config_of("gpt");
  for (const auto& [key, value] : {std::pair{"layers", "12"},
                                   {"hidden", "768"},
                                   {"heads", "12"},
                                   {"sequence", "64"},
                                   {"positions", "1024"},
                                   {"vocab", "50257"},
                                   {"tied", "true"}}) {
    config.set(key, value);
  }
  return config;
}

graph::Graph training_graph(const record::ModelConfig& config, std::int64_t batch) {
  graph::Graph graph = build_model(config, batch, true).graph;
  const auto gradients = differentiate(graph, graph.find("loss"));
  add_optimizer(graph, gradients, {});
  return graph;
}

std::int64_t count(const graph::Graph& graph, std::string_view op) {
  std::int64_t found = 0;
  for (const graph::Node& node : graph.nodes()) found += node.op->name() == op ? 1 : 0;
  return found;
}

// The design's table of workloads.
TEST(Models, HaveTheStandardParameterCounts) {
  EXPECT_EQ(parameter_count(build_model(config_of("mlp"), 4, true).graph), 595969);
  record::ModelConfig small = config_of("mlp");
  small.set("width", "128");
  EXPECT_EQ(parameter_count(build_model(small, 4, true).graph), 50689);
  EXPECT_EQ(parameter_count(build_model(config_of("convnet"), 4, true).graph), 458570);
  EXPECT_EQ(parameter_count(build_model(config_of("tcn"), 2, true).graph), 69569);
  EXPECT_EQ(parameter_count(build_model(config_of("deeplob"), 2, true).graph), 143907);
  EXPECT_EQ(parameter_count(build_model(config_of("resnet"), 2, true).graph), 25557032);
  EXPECT_EQ(parameter_count(build_model(config_of("gpt"), 2, true).graph), 10942464);
  EXPECT_EQ(parameter_count(build_model(config_of("lstm"), 2, true).graph), 55361);
  EXPECT_EQ(parameter_count(build_model(gpt2(), 1, true).graph), 124439808);
  EXPECT_EQ(parameter_count(build_model(config_of("bert"), 1, true).graph), 109512762);
  // 16 layers of 2048 x (3072 + 2048 + 3 x 5632 + 2), 2 x 32000 x 2048 around them, and a norm.
  EXPECT_EQ(parameter_count(build_model(config_of("llama"), 1, true).graph), 852559872);
  EXPECT_EQ(parameter_count(build_model(config_of("moe"), 2, true).graph), 35764608);
  EXPECT_EQ(parameter_count(build_model(config_of("xs_transformer"), 1, true).graph), 3176449);
}

// 6 N tokens less the embeddings, which are look-ups, plus attention: 2 x 3 x 2 x T x T x d / 2 a layer and sample.
TEST(Models, GptFlopsFollowTheClosedForm) {
  const graph::Graph graph = training_graph(config_of("gpt"), 8);
  const double d = 384, layers = 6, tokens = 2048;
  const double products = layers * 12 * d * d + d * 256;
  const double attention = layers * 8 * 256.0 * 256.0 * d * 0.5 * 2 * (2 + 4);
  EXPECT_DOUBLE_EQ(total_flops(graph).value, 6 * products * tokens + attention);
}

// A layer of f inputs and 64 units: 4 x 64 columns of f + 64; the gradient of the weights costs as much as the forward
// pass, that of the hidden states and of all inputs but the first layer's what their columns cost.
TEST(Models, LstmFlopsFollowTheClosedForm) {
  const graph::Graph graph = training_graph(config_of("lstm"), 800);
  const double samples_and_steps = 800 * 60, columns = 256;
  const double forward = columns * (20 + 64) + columns * (64 + 64), backward = forward + columns * 64 + columns * 128;
  const double head = 3 * 800 * 64;
  EXPECT_DOUBLE_EQ(total_flops(graph).value, 2 * (samples_and_steps * (forward + backward) + head));
}

TEST(Models, FusionLeavesOneNodeWhereThereWereSeveral) {
  graph::Graph gpt = training_graph(config_of("gpt"), 2);
  run_passes(gpt, {});
  EXPECT_EQ(count(gpt, "activation"), 0);
  EXPECT_EQ(count(gpt, "cross_entropy_grad"), 0);
  EXPECT_EQ(count(gpt, "adamw"), 1);
  EXPECT_EQ(count(gpt, "add"), 0);

  // The additions of a Llama go into its norms and their gradients, but for the gradient that gate and up share.
  record::ModelConfig small = config_of("llama");
  small.set("layers", "3");
  graph::Graph llama = training_graph(small, 1);
  run_passes(llama, {});
  EXPECT_EQ(count(llama, "rmsnorm"), 7);
  EXPECT_EQ(count(llama, "add"), 3);

  graph::Graph mlp = training_graph(config_of("mlp"), 8);
  run_passes(mlp, {});
  EXPECT_EQ(count(mlp, "activation") + count(mlp, "activation_grad"), 0);

  graph::Graph tcn = training_graph(config_of("tcn"), 2);
  run_passes(tcn, {});
  EXPECT_EQ(count(tcn, "activation"), 0);  // each is in its convolution, behind the view that makes it one of steps

  graph::Graph plain = training_graph(config_of("mlp"), 8);
  run_passes(plain, {"fuse_norm_activation"});
  EXPECT_EQ(count(plain, "activation"), 3);
  EXPECT_THROW(run_passes(plain, {"fuse_norm"}), UserError);
}

TEST(Models, RejectWhatTheyCannotBuild) {
  EXPECT_THROW(build_model(config_of("gtp"), 1, true), UserError);
  record::ModelConfig heads = config_of("gpt");
  heads.set("heads", "7");
  EXPECT_THROW(build_model(heads, 1, true), UserError);
  record::ModelConfig positions = config_of("gpt");
  positions.set("positions", "255");  // fewer than the sequence
  EXPECT_THROW(build_model(positions, 1, true), UserError);
  for (const auto& [key, value] : {std::pair{"experts", "0"}, {"choices", "9"}, {"choices", "0"}}) {
    record::ModelConfig moe = config_of("moe");
    moe.set(key, value);
    EXPECT_THROW(build_model(moe, 1, true), UserError) << key << " " << value;
  }
  for (const auto& [key, value] : {std::pair{"kv_heads", "3"}, {"kv_heads", "64"}, {"heads", "2048"}, {"theta", "0"}}) {
    record::ModelConfig llama = config_of("llama");
    llama.set(key, value);
    EXPECT_THROW(build_model(llama, 1, true), UserError) << key << " " << value;
  }
  record::ModelConfig unknown = config_of("mlp");
  unknown.set("widht", "5");
  EXPECT_THROW(build_model(unknown, 1, true), UserError);
}

}  // namespace
}  // namespace headway::models
