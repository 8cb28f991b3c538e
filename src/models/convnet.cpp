#include "graph/ops/activation.h"
#include "graph/ops/loss.h"
#include "graph/ops/pool.h"
#include "graph/ops/shape_ops.h"
#include "models/builders.h"
#include "models/layers.h"

namespace headway::models {

Model build_convnet(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(std::array<std::string, 7>{"image", "channels", "conv1", "conv2", "conv3", "hidden", "classes"});
  const std::int64_t image = config.get_int("image", 28, {4}), classes = config.get_int("classes", 10, {2});

  Model model;
  model.item = "image";
  model.sample.classes = classes;
  graph::Graph& graph = model.graph;
  const graph::ValueId input =
      graph.add_input("input", {DType::kF32, {batch, image, image, config.get_int("channels", 1)}});
  const graph::ValueId target = graph.add_input("target", {DType::kI32, {batch}});
  const auto relu = [&](graph::ValueId x) { return activation(graph, x, graph::Activation::kRelu); };
  const auto pool = [&](graph::ValueId x, const char* name) {
    scoped(graph, name);
    return max_pool2d(graph, x, {});
  };

  graph::ValueId x = relu(same_conv_layer(graph, "conv1", input, config.get_int("conv1", 32), 3));
  x = pool(relu(same_conv_layer(graph, "conv2", x, config.get_int("conv2", 64), 3)), "pool1");
  x = pool(relu(same_conv_layer(graph, "conv3", x, config.get_int("conv3", 64), 3)), "pool2");
  // Channels first before flattening, as PyTorch's flatten of an NCHW tensor: fc1.weight has PyTorch's column order.
  scoped(graph, "flatten");
  x = transpose(graph, x, {0, 3, 1, 2});
  x = reshape(graph, x, {batch, graph.value(x).type.shape.elements() / batch});
  x = relu(linear_layer(graph, "fc1", x, config.get_int("hidden", 128)));
  x = linear_layer(graph, "fc2", x, classes);
  scoped(graph, "loss");
  graph.add_output("loss", cross_entropy(graph, x, target));
  if (!training) graph.add_output("correct", count_correct(graph, x, target));
  return model;
}

}  // namespace headway::models
