#include "tests/training/norm_net.h"

#include "graph/ops/activation.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/loss.h"
#include "graph/ops/shape_ops.h"
#include "models/layers.h"

namespace headway::tests {

graph::Graph build_norm_net(std::int64_t samples, bool training) {
  using graph::Activation, graph::ValueId;
  graph::Graph graph;
  const ValueId input = graph.add_input("input", {DType::kF32, {samples, 6, 5, 1}});
  const ValueId target = graph.add_input("target", {DType::kF32, {samples, 1}});
  const auto uniform = models::fan_in_uniform(2);

  const ValueId w1 = graph.add_parameter("conv1.weight", {4, 1, 2, 1}, uniform);
  const ValueId b1 = graph.add_parameter("conv1.bias", {4}, uniform);
  ValueId x = graph::conv2d(graph, input, w1, b1, {});
  x = graph::activation(graph, x, {Activation::kLeakyRelu, 0.01});
  x = models::batchnorm_layer(graph, "norm1", x, training);

  const ValueId w2 = graph.add_parameter("conv2.weight", {6, 4, 2, 2}, uniform);
  graph::Conv2dAttributes padded;
  padded.padding = {1, 1};
  x = graph::conv2d(graph, x, w2, graph::kNoValue, padded);
  x = graph::activation(graph, models::batchnorm_layer(graph, "norm2", x, training), Activation::kRelu);

  x = graph::reshape(graph, graph::transpose(graph, x, {0, 3, 1, 2}), {samples, 216});
  graph.add_output("loss", graph::mse(graph, models::linear_layer(graph, "head", x, 1), target));
  return graph;
}

}  // namespace headway::tests
