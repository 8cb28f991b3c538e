#include "models/layers.h"

#include <fmt/core.h>

#include <cmath>

#include "graph/ops/batchnorm.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/rmsnorm.h"

namespace headway::models {

using graph::Graph;
using graph::Initializer;
using graph::ValueId;

Initializer fan_in_uniform(std::int64_t fan_in) {
  return {Initializer::Kind::kUniform, 1.0 / std::sqrt(static_cast<double>(fan_in))};
}

std::string scoped(Graph& graph, const std::string& name) {
  graph.set_scope(name);
  return name;
}

ValueId linear_layer(Graph& graph, const std::string& name, ValueId x, std::int64_t n) {
  const Initializer uniform = fan_in_uniform(graph.value(x).type.shape[-1]);
  return linear_layer(graph, name, x, n, uniform, uniform);
}

ValueId linear_layer(Graph& graph, const std::string& name, ValueId x, std::int64_t n, Initializer weight,
                     Initializer bias, bool with_bias) {
  scoped(graph, name);
  const ValueId w = graph.add_parameter(name + ".weight", {n, graph.value(x).type.shape[-1]}, weight);
  const ValueId b = with_bias ? graph.add_parameter(name + ".bias", {n}, bias) : graph::kNoValue;
  return linear(graph, x, w, b);
}

ValueId layernorm_layer(Graph& graph, const std::string& name, ValueId x) {
  scoped(graph, name);
  const std::int64_t n = graph.value(x).type.shape[-1];
  const ValueId gamma = graph.add_parameter(name + ".weight", {n}, {Initializer::Kind::kFill, 1.0});
  const ValueId beta = graph.add_parameter(name + ".bias", {n}, {Initializer::Kind::kFill, 0.0});
  return layernorm(graph, x, gamma, beta);
}

ValueId rmsnorm_layer(Graph& graph, const std::string& name, ValueId x, double eps) {
  scoped(graph, name);
  const std::int64_t n = graph.value(x).type.shape[-1];
  return rmsnorm(graph, x, graph.add_parameter(name + ".weight", {n}, {Initializer::Kind::kFill, 1.0}), eps);
}

ValueId batchnorm_layer(Graph& graph, const std::string& name, ValueId x, bool training) {
  scoped(graph, name);
  const std::int64_t channels = graph.value(x).type.shape[-1];
  const ValueId gamma = graph.add_parameter(name + ".weight", {channels}, {Initializer::Kind::kFill, 1.0});
  const ValueId beta = graph.add_parameter(name + ".bias", {channels}, {Initializer::Kind::kFill, 0.0});
  const ValueId mean = graph.add_statistic(name + ".running_mean", {channels}, 0.0);
  const ValueId variance = graph.add_statistic(name + ".running_var", {channels}, 1.0);
  return batchnorm(graph, x, gamma, beta, mean, variance, training);
}

ValueId conv_layer(Graph& graph, const std::string& name, ValueId x, std::int64_t out,
                   std::array<std::int64_t, 2> kernel, const graph::Conv2dAttributes& attributes, bool with_bias) {
  scoped(graph, name);
  const std::int64_t in = graph.value(x).type.shape[-1];
  const Initializer uniform = fan_in_uniform(in * kernel[0] * kernel[1]);
  const ValueId w = graph.add_parameter(name + ".weight", {out, in, kernel[0], kernel[1]}, uniform);
  const ValueId b = with_bias ? graph.add_parameter(name + ".bias", {out}, uniform) : graph::kNoValue;
  return conv2d(graph, x, w, b, attributes);
}

ValueId same_conv_layer(Graph& graph, const std::string& name, ValueId x, std::int64_t out, std::int64_t kernel) {
  graph::Conv2dAttributes attributes;
  attributes.padding = {kernel / 2, kernel / 2};
  return conv_layer(graph, name, x, out, {kernel, kernel}, attributes);
}

ValueId recurrent_layer(Graph& graph, const std::string& name, std::int64_t layer, ValueId x, std::int64_t hidden,
                        graph::RecurrentAttributes attributes) {
  scoped(graph, fmt::format("{}.l{}", name, layer));
  const Initializer uniform = fan_in_uniform(hidden);
  const std::int64_t rows = gates_of(attributes.cell) * hidden;
  const auto parameter = [&](const char* what, Shape shape) {
    return graph.add_parameter(fmt::format("{}.{}_l{}", name, what, layer), std::move(shape), uniform);
  };
  graph::RecurrentWeights weights;
  weights.w_ih = parameter("weight_ih", {rows, graph.value(x).type.shape[-1]});
  weights.w_hh = parameter("weight_hh", {rows, hidden});
  weights.b_ih = parameter("bias_ih", {rows});
  weights.b_hh = parameter("bias_hh", {rows});
  return recurrent(graph, x, weights, attributes);
}

ValueId causal_conv_layer(Graph& graph, const std::string& name, ValueId x, std::int64_t out, std::int64_t kernel,
                          std::int64_t dilation) {
  scoped(graph, name);
  const std::int64_t in = graph.value(x).type.shape[-1];
  const Initializer uniform = fan_in_uniform(in * kernel);
  const ValueId w = graph.add_parameter(name + ".weight", {out, in, kernel}, uniform);
  const ValueId b = graph.add_parameter(name + ".bias", {out}, uniform);
  return conv1d(graph, x, w, b, {1, graph::Padding(dilation * (kernel - 1), 0), dilation});
}

}  // namespace headway::models
