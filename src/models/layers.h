// Layers that several models share, named as PyTorch names them: "<name>.weight", "<name>.bias".
#pragma once

#include <array>
#include <string>

#include "graph/graph.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/recurrent.h"

namespace headway::models {

// Deeper than any model trained so far; what is larger is a slip of the user's.
inline constexpr std::int64_t kMostLayers = 1000;

// Uniform in +-1/sqrt(fan_in) for weight and bias: PyTorch's default for Linear and Conv2d.
graph::Initializer fan_in_uniform(std::int64_t fan_in);

// Sets the scope of the nodes that follow and returns the name.
std::string scoped(graph::Graph& graph, const std::string& name);

// A linear layer over the last axis with n outputs.
graph::ValueId linear_layer(graph::Graph& graph, const std::string& name, graph::ValueId x, std::int64_t n);
graph::ValueId linear_layer(graph::Graph& graph, const std::string& name, graph::ValueId x, std::int64_t n,
                            graph::Initializer weight, graph::Initializer bias, bool with_bias = true);

graph::ValueId layernorm_layer(graph::Graph& graph, const std::string& name, graph::ValueId x);

// RMSNorm over the last axis: a weight, no bias.
graph::ValueId rmsnorm_layer(graph::Graph& graph, const std::string& name, graph::ValueId x, double eps = 1e-5);

// BatchNorm over the last axis, with "<name>.running_mean" and "<name>.running_var" as statistics of the model.
graph::ValueId batchnorm_layer(graph::Graph& graph, const std::string& name, graph::ValueId x, bool training);

// A convolution of x [batch, height, width, in] with `out` channels.
graph::ValueId conv_layer(graph::Graph& graph, const std::string& name, graph::ValueId x, std::int64_t out,
                          std::array<std::int64_t, 2> kernel, const graph::Conv2dAttributes& attributes,
                          bool with_bias = true);
// A square one that keeps height and width (kernel odd, padding kernel / 2).
graph::ValueId same_conv_layer(graph::Graph& graph, const std::string& name, graph::ValueId x, std::int64_t out,
                               std::int64_t kernel);

// Layer `layer` of a recurrent stack over x [batch, steps, f], named as PyTorch names it: "<name>.weight_ih_l<layer>",
// weight_hh_l, bias_ih_l, bias_hh_l, all uniform in +-1/sqrt(hidden).
graph::ValueId recurrent_layer(graph::Graph& graph, const std::string& name, std::int64_t layer, graph::ValueId x,
                               std::int64_t hidden, graph::RecurrentAttributes attributes);

// A convolution over the steps of x [batch, steps, in] that sees no later step and keeps their number.
graph::ValueId causal_conv_layer(graph::Graph& graph, const std::string& name, graph::ValueId x, std::int64_t out,
                                 std::int64_t kernel, std::int64_t dilation);

}  // namespace headway::models
