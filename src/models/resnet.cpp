// ResNet with bottleneck blocks (He, Zhang, Ren, Sun 2016, "Deep residual learning for image recognition"), ResNet-50
// by default: a 7 x 7 stem, four stages whose first block halves the image (in its 3 x 3 convolution, as
// torchvision's), the mean over the image, one linear layer. Names as torchvision's.
#include <fmt/core.h>

#include <cmath>

#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/avg_pool.h"
#include "graph/ops/loss.h"
#include "graph/ops/pool.h"
#include "graph/ops/shape_ops.h"
#include "models/builders.h"
#include "models/layers.h"

namespace headway::models {
namespace {

using graph::Graph;
using graph::ValueId;

constexpr std::int64_t kExpansion = 4;  // channels of a block's result over those of its 3 x 3 convolution

class ResNet {
 public:
  ResNet(Graph& graph, bool training) : graph_(graph), training_(training) {}

  // Square, without bias, padded so that stride 1 keeps the image; normal with deviation sqrt(2 / (out * kernel^2)).
  ValueId conv(const std::string& name, ValueId x, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
    scoped(graph_, name);
    const double deviation = std::sqrt(2.0 / static_cast<double>(out * kernel * kernel));
    const ValueId w = graph_.add_parameter(name + ".weight", {out, graph_.value(x).type.shape[-1], kernel, kernel},
                                           {graph::Initializer::Kind::kNormal, deviation});
    return conv2d(graph_, x, w, graph::kNoValue, {{stride, stride}, {kernel / 2, kernel / 2}});
  }

  ValueId norm(const std::string& name, ValueId x) { return batchnorm_layer(graph_, name, x, training_); }

  ValueId relu(const std::string& name, ValueId x) {
    scoped(graph_, name);
    return activation(graph_, x, graph::Activation::kRelu);
  }

  ValueId block(const std::string& name, ValueId x, std::int64_t width, std::int64_t stride) {
    ValueId y = relu(name + ".relu1", norm(name + ".bn1", conv(name + ".conv1", x, width, 1, 1)));
    y = relu(name + ".relu2", norm(name + ".bn2", conv(name + ".conv2", y, width, 3, stride)));
    y = norm(name + ".bn3", conv(name + ".conv3", y, kExpansion * width, 1, 1));
    if (stride > 1 || graph_.value(x).type.shape[-1] != kExpansion * width) {
      x = norm(name + ".downsample.1", conv(name + ".downsample.0", x, kExpansion * width, 1, stride));
    }
    scoped(graph_, name + ".residual");
    return relu(name + ".relu3", add(graph_, y, x));
  }

 private:
  Graph& graph_;
  bool training_;
};

}  // namespace

Model build_resnet(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(
      std::array<std::string, 8>{"image", "channels", "width", "blocks1", "blocks2", "blocks3", "blocks4", "classes"});
  const std::int64_t image = config.get_int("image", 224), classes = config.get_int("classes", 1000, {2});
  const std::int64_t width = config.get_int("width", 64);
  const std::array<std::int64_t, 4> blocks = {
      config.get_int("blocks1", 3, {1, kMostLayers}), config.get_int("blocks2", 4, {1, kMostLayers}),
      config.get_int("blocks3", 6, {1, kMostLayers}), config.get_int("blocks4", 3, {1, kMostLayers})};

  Model model;
  model.item = "image";
  model.sample.classes = classes;
  Graph& graph = model.graph;
  ValueId x = graph.add_input("input", {DType::kF32, {batch, image, image, config.get_int("channels", 3)}});
  const ValueId target = graph.add_input("target", {DType::kI32, {batch}});

  ResNet net(graph, training);
  x = net.relu("relu", net.norm("bn1", net.conv("conv1", x, width, 7, 2)));
  scoped(graph, "maxpool");
  x = max_pool2d(graph, x, {{3, 3}, {2, 2}, {1, 1}});
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (std::int64_t block = 0; block < blocks[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = net.block(fmt::format("layer{}.{}", stage + 1, block), x, width << stage, stride);
    }
  }
  scoped(graph, "avgpool");
  const Shape& last = graph.value(x).type.shape;
  const std::int64_t features = last[3];
  x = avg_pool2d(graph, x, {{last[1], last[2]}, {1, 1}});
  x = reshape(graph, x, {batch, features});
  x = linear_layer(graph, "fc", x, classes);
  scoped(graph, "loss");
  graph.add_output("loss", cross_entropy(graph, x, target));
  if (!training) graph.add_output("correct", count_correct(graph, x, target));
  return model;
}

}  // namespace headway::models
