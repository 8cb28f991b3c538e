// DeepLOB (Zhang, Zohren, Roberts 2019, "DeepLOB: Deep convolutional neural networks for limit order books"), unpadded
// in time: three blocks of convolutions that join price with size, then the two sides of a level, then the levels; an
// inception module over time; an LSTM whose last step decides. Each convolution is followed by its activation, then
// BatchNorm.
#include <fmt/core.h>

#include "graph/ops/activation.h"
#include "graph/ops/concat.h"
#include "graph/ops/loss.h"
#include "graph/ops/pool.h"
#include "graph/ops/shape_ops.h"
#include "models/builders.h"
#include "models/layers.h"

namespace headway::models {
namespace {

using graph::Activation;
using graph::Graph;
using graph::ValueId;

constexpr std::int64_t kColumns = 40;  // ten levels of ask price, ask size, bid price, bid size
constexpr double kSlope = 0.01;

using Pair = std::array<std::int64_t, 2>;

struct Unit {
  std::int64_t out;
  Pair kernel, stride = {1, 1};
  std::int64_t padding = 0;  // of time, on both sides
  Activation activation = {Activation::kLeakyRelu, kSlope};
};

class DeepLob {
 public:
  DeepLob(Graph& graph, bool training) : graph_(graph), training_(training) {}

  ValueId unit(const std::string& name, ValueId x, const Unit& unit) {
    x = conv_layer(graph_, name + ".conv", x, unit.out, unit.kernel, {unit.stride, {unit.padding, 0}});
    scoped(graph_, name + ".activation");
    x = activation(graph_, x, unit.activation);
    return batchnorm_layer(graph_, name + ".norm", x, training_);
  }

  // A convolution over columns, then two over time.
  ValueId block(const std::string& name, ValueId x, Unit first) {
    x = unit(name + ".0", x, first);
    first.kernel = {4, 1};
    first.stride = {1, 1};
    x = unit(name + ".1", x, first);
    return unit(name + ".2", x, first);
  }

  // 1 x 1, then over `steps` steps.
  ValueId branch(const std::string& name, ValueId x, std::int64_t out, std::int64_t steps) {
    x = unit(name + ".0", x, {out, {1, 1}});
    return unit(name + ".1", x, {.out = out, .kernel = {steps, 1}, .padding = steps / 2});
  }

  ValueId inception(ValueId x, std::int64_t out) {
    const ValueId few = branch("short", x, out, 3), many = branch("long", x, out, 5);
    scoped(graph_, "pool");
    const ValueId most = max_pool2d(graph_, x, {{3, 1}, {1, 1}, {1, 0}});
    const ValueId pooled = unit("pooled", most, {out, {1, 1}});
    scoped(graph_, "concat");
    return concat(graph_, {few, many, pooled}, -1);
  }

 private:
  Graph& graph_;
  bool training_;
};

}  // namespace

Model build_deeplob(const record::ModelConfig& config, std::int64_t batch, bool training) {
  config.require_known(std::array<std::string, 5>{"sequence", "channels", "inception", "hidden", "classes"});
  // Three blocks take six steps each.
  const std::int64_t steps = config.get_int("sequence", 100, {19}), classes = config.get_int("classes", 3, {2});
  const std::int64_t channels = config.get_int("channels", 32), mixed = config.get_int("inception", 64);

  Model model;
  model.item = "window";
  model.sample.features = kColumns;
  model.sample.sequence = steps;
  model.sample.classes = classes;
  Graph& graph = model.graph;
  ValueId x = graph.add_input("input", {DType::kF32, {batch, steps, kColumns, 1}});
  const ValueId target = graph.add_input("target", {DType::kI32, {batch}});

  DeepLob net(graph, training);
  x = net.block("block1", x, {channels, {1, 2}, {1, 2}});
  x = net.block("block2", x, {.out = channels, .kernel = {1, 2}, .stride = {1, 2}, .activation = Activation::kTanh});
  x = net.block("block3", x, {channels, {1, 10}});
  x = net.inception(x, mixed);
  scoped(graph, "flatten");
  x = reshape(graph, x, {batch, graph.value(x).type.shape[1], 3 * mixed});
  x = recurrent_layer(graph, "lstm", 0, x, config.get_int("hidden", 64), {graph::cell_from_name("lstm"), true});
  x = linear_layer(graph, "head", x, classes);
  scoped(graph, "loss");
  graph.add_output("loss", cross_entropy(graph, x, target));
  if (!training) graph.add_output("correct", count_correct(graph, x, target));
  return model;
}

}  // namespace headway::models
