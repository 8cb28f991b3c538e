#include "tests/ops/pass_models.h"

#include <fmt/core.h>

#include <array>

#include "graph/autodiff.h"
#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/attention.h"
#include "graph/ops/batchnorm.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/dropout.h"
#include "graph/ops/embedding.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "graph/ops/pool.h"
#include "graph/ops/rmsnorm.h"
#include "graph/ops/shape_ops.h"

namespace headway::ops_test {
namespace {

using graph::Activation;
using graph::ValueId;

ValueId linear(GraphMaker& maker, ValueId x, std::int64_t n, bool bias = true) {
  const std::int64_t k = maker.graph().value(x).type.shape[-1];
  const ValueId w = maker.parameter({n, k}, -1, 1);
  return graph::linear(maker.graph(), x, w, bias ? maker.parameter({n}) : graph::kNoValue);
}

ValueId norm(GraphMaker& maker, ValueId x) {
  const std::int64_t n = maker.graph().value(x).type.shape[-1];
  const ValueId gamma = maker.parameter({n}, 0.5, 2);
  return graph::layernorm(maker.graph(), x, gamma, maker.parameter({n}));
}

// linear, LayerNorm and activation, one of each kind; then layers without a norm.
ValueId build_mlp(GraphMaker& maker) {
  ValueId x = maker.input({9, 7});
  for (const Activation kind : graph::kActivations) {
    x = graph::activation(maker.graph(), norm(maker, linear(maker, x, 8)), kind);
  }
  x = graph::activation(maker.graph(), linear(maker, x, 5), Activation::kRelu);
  x = graph::activation(maker.graph(), linear(maker, x, 5, false), Activation::kGeluErf);
  for (const Activation kind : {Activation::kLeakyRelu, Activation::kSilu, Activation::kTanh, Activation::kSigmoid}) {
    x = graph::activation(maker.graph(), linear(maker, x, 6), kind);
  }
  return maker.loss_of(linear(maker, x, 1));
}

// Two pre-norm blocks with attention, dropout, residuals, learned positions and cross-entropy.
ValueId build_transformer(GraphMaker& maker) {
  graph::Graph& graph = maker.graph();
  maker.set_position(5, 2, 1, 3);
  const ValueId ids = maker.ids({2, 4}, 0, 10), labels = maker.ids({2, 4}, 0, 10);
  ValueId x = graph::embedding(graph, maker.parameter({11, 6}), ids);
  x = graph::add(graph, x, maker.parameter({4, 6}));
  for (int block = 0; block < 2; ++block) {
    const ValueId qkv = linear(maker, norm(maker, x), 18);
    ValueId attended = linear(maker, graph::attention(graph, qkv, {2, true}), 6);
    attended = graph::dropout(graph, attended, {0.3, block});
    x = graph::add(graph, x, attended);
    const ValueId hidden = graph::activation(graph, linear(maker, norm(maker, x), 12), Activation::kGeluTanh);
    x = graph::add(graph, x, linear(maker, hidden, 6));
  }
  const ValueId logits = linear(maker, norm(maker, x), 11, false);
  graph.add_output("correct", graph::count_correct(graph, logits, labels));
  return graph::cross_entropy(graph, logits, labels);
}

ValueId build_convnet(GraphMaker& maker) {
  graph::Graph& graph = maker.graph();
  const ValueId labels = maker.ids({3}, 0, 4);
  graph::Conv2dAttributes same;
  same.padding = {1, 1};
  ValueId x = maker.input({3, 6, 6, 2});
  x = graph::conv2d(graph, x, maker.parameter({4, 2, 3, 3}), maker.parameter({4}), same);
  x = graph::activation(graph, x, Activation::kRelu);
  x = graph::max_pool2d(graph, x, {});
  x = graph::conv2d(graph, x, maker.parameter({3, 4, 3, 3}, -1, 1), graph::kNoValue, same);
  x = graph::activation(graph, x, Activation::kLeakyRelu);
  x = graph::conv2d(graph, x, maker.parameter({3, 3, 1, 1}, -1, 1), maker.parameter({3}), {});
  x = graph::activation(graph, x, Activation::kSilu);
  x = graph::conv2d(graph, x, maker.parameter({3, 3, 1, 1}, -1, 1), maker.parameter({3}), {});
  x = graph::activation(graph, x, Activation::kTanh);
  x = graph::reshape(graph, x, {3, 27});
  x = graph::activation(graph, linear(maker, x, 6), Activation::kRelu);
  return graph::cross_entropy(graph, linear(maker, x, 5), labels);
}

// Everything that a careless fusion breaks: what it would swallow is read by somebody else, or twice.
ValueId build_traps(GraphMaker& maker) {
  graph::Graph& graph = maker.graph();
  const ValueId x = maker.input({4, 6});
  const ValueId w = maker.parameter({6, 6}, -1, 1), b = maker.parameter({6});
  // The value before the activation is an output, and feeds a second activation.
  const ValueId before = graph::linear(graph, x, w, b);
  graph.add_output("before", before);
  ValueId y = graph::add(graph, graph::activation(graph, before, Activation::kGeluErf),
                         graph::activation(graph, before, Activation::kRelu));
  // The same weights again; the normalised value is read beside the activation.
  const ValueId normed = norm(maker, graph::linear(graph, y, w, b));
  y = graph::add(graph, graph::activation(graph, normed, Activation::kGeluTanh), normed);
  // A residual sum with two norms and a reader of its own; a broadcast sum before a norm; x + x.
  const ValueId sum = graph::add(graph, y, before);
  y = graph::add(graph, graph::mul(graph, norm(maker, sum), norm(maker, sum)), sum);
  y = norm(maker, graph::add(graph, y, maker.parameter({6})));
  y = norm(maker, graph::add(graph, y, y));
  // An activation twice; a loss that is scaled, so that its gradient is no constant.
  const ValueId active = graph::activation(graph, norm(maker, y), Activation::kRelu);
  y = graph::add(graph, graph::activation(graph, active, Activation::kGeluErf), active);
  return graph::scale(graph, graph::cross_entropy(graph, y, maker.ids({4}, 0, 5)), 0.5);
}

// BatchNorm before and after activations, and where neither may be fused: read beside the activation, and in the
// gradient a second gradient of the same value.
ValueId build_batchnorms(GraphMaker& maker) {
  graph::Graph& graph = maker.graph();
  const auto norm = [&](ValueId x) {
    const std::int64_t n = graph.value(x).type.shape[-1];
    const ValueId gamma = maker.parameter({n}, 0.5, 2), beta = maker.parameter({n});
    return graph::batchnorm(graph, x, gamma, beta, maker.statistic({n}), maker.statistic({n}), true);
  };
  const auto conv = [&](ValueId x, std::int64_t out) {
    const std::int64_t in = graph.value(x).type.shape[-1];
    return graph::conv2d(graph, x, maker.parameter({out, in, 2, 2}, -1, 1), maker.parameter({out}), {});
  };
  ValueId x = maker.input({3, 6, 6, 2});
  x = norm(graph::activation(graph, conv(x, 4), {Activation::kLeakyRelu, 0.1}));
  x = norm(graph::activation(graph, conv(x, 3), Activation::kTanh));
  x = graph::activation(graph, norm(conv(x, 3)), Activation::kRelu);
  const ValueId active = graph::activation(graph, conv(x, 4), Activation::kRelu);
  x = graph::add(graph, norm(active), active);
  const ValueId normed = norm(graph::activation(graph, x, Activation::kGeluErf));
  x = graph::add(graph, graph::activation(graph, normed, Activation::kSilu), normed);
  x = graph::activation(graph, norm(graph::activation(graph, x, Activation::kSigmoid)), Activation::kGeluTanh);
  return maker.loss_of(x);
}

// Two pre-norm blocks with RMSNorm; the first sum has a reader beside its norm.
ValueId build_rmsnorms(GraphMaker& maker) {
  graph::Graph& graph = maker.graph();
  const auto rms = [&](ValueId x) { return graph::rmsnorm(graph, x, maker.parameter({6}, 0.5, 2)); };
  ValueId x = linear(maker, maker.input({7, 5}), 6);
  for (int block = 0; block < 2; ++block) {
    const ValueId hidden = graph::activation(graph, linear(maker, rms(x), 8), Activation::kSilu);
    x = graph::add(graph, x, linear(maker, hidden, 6));
  }
  return maker.loss_of(linear(maker, rms(x), 3));
}

graph::OptimizerSpec spec(graph::OptimizerSpec::Kind kind, double momentum, double clip, std::int64_t accumulate) {
  graph::OptimizerSpec made;
  made.kind = kind;
  made.momentum = momentum;
  made.weight_decay = 0.1;
  made.clip = clip;
  made.accumulate = accumulate;
  return made;
}

}  // namespace

std::span<const PassModel> pass_models() {
  using Kind = graph::OptimizerSpec::Kind;
  static const std::array kModels = {
      PassModel{"mlp", build_mlp, spec(Kind::kAdamW, 0, 0, 1)},
      PassModel{"transformer", build_transformer, spec(Kind::kAdamW, 0, 0.1, 2)},
      PassModel{"convnet", build_convnet, spec(Kind::kSgd, 0.9, 0, 1)},
      PassModel{"batchnorms", build_batchnorms, spec(Kind::kAdamW, 0, 0, 2)},
      PassModel{"rmsnorms", build_rmsnorms, spec(Kind::kAdamW, 0, 0, 1)},
      PassModel{"traps", build_traps, spec(Kind::kSgd, 0, 0.5, 3)},
  };
  return kModels;
}

void build_step(GraphMaker& maker, const PassModel& model) {
  graph::Graph& graph = maker.graph();
  const ValueId loss = model.build(maker);
  graph.add_output("loss", loss);
  const std::vector<ValueId> gradients = graph::differentiate(graph, loss);
  for (std::size_t index = 0; index < gradients.size(); ++index) {
    if (gradients[index] == graph::kNoValue) continue;  // a statistic
    graph.add_output(fmt::format("gradient {}", index), gradients[index]);
  }
  graph::add_optimizer(graph, gradients, model.optimizer);
  maker.give_the_rest();
}

}  // namespace headway::ops_test
