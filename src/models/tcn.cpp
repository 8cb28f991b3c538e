// A temporal convolutional network (Bai, Kolter, Koltun 2018, "An empirical evaluation of generic convolutional and
// recurrent networks for sequence modeling"): causal convolutions whose dilation doubles from layer to layer, so that
// the last one sees 1 + (kernel - 1) * (2^layers - 1) steps; x + relu(conv(x)) where the channels stay.
#include <fmt/core.h>

#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/loss.h"
#include "models/builders.h"
#include "models/layers.h"

namespace headway::models {

Model build_tcn(const record::ModelConfig& config, std::int64_t batch, bool) {
  config.require_known(std::array<std::string, 5>{"features", "sequence", "width", "layers", "kernel"});
  const std::int64_t features = config.get_int("features", 40), sequence = config.get_int("sequence", 256);
  const std::int64_t width = config.get_int("width", 64), layers = config.get_int("layers", 6, {1, 30});
  const std::int64_t kernel = config.get_int("kernel", 3);

  Model model;
  model.item = "window";
  model.sample.features = features;
  model.sample.sequence = sequence;
  graph::Graph& graph = model.graph;
  graph::ValueId x = graph.add_input("input", {DType::kF32, {batch, sequence, features}});
  const graph::ValueId target = graph.add_input("target", {DType::kF32, {batch, sequence, 1}});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string name = fmt::format("layers.{}", layer);
    graph::ValueId y = causal_conv_layer(graph, name + ".conv", x, width, kernel, std::int64_t{1} << layer);
    scoped(graph, name + ".relu");
    y = activation(graph, y, graph::Activation::kRelu);
    if (graph.value(x).type.shape[-1] == width) {
      scoped(graph, name + ".residual");
      y = add(graph, x, y);
    }
    x = y;
  }
  x = linear_layer(graph, "head", x, 1);
  scoped(graph, "loss");
  graph.add_output("loss", mse(graph, x, target));
  return model;
}

}  // namespace headway::models
