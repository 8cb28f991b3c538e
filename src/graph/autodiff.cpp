#include "graph/autodiff.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "graph/ops/arithmetic.h"

namespace headway::graph {

GradientContext::GradientContext(Graph& graph, const Node& node, std::vector<ValueId> output_gradients,
                                 std::vector<bool> needed)
    : graph_(graph), node_(node), output_gradients_(std::move(output_gradients)), needed_(std::move(needed)) {}

namespace {

// Which values depend on a parameter: only their gradients are worth computing.
std::vector<bool> depends_on_parameters(const Graph& graph) {
  std::vector<bool> depends(graph.values().size(), false);
  for (const Parameter& parameter : graph.parameters()) {
    depends[static_cast<std::size_t>(parameter.value)] = parameter.trained;
  }
  for (const Node& node : graph.nodes()) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId input) { return depends[static_cast<std::size_t>(input)]; });
    for (const ValueId output : node.outputs) depends[static_cast<std::size_t>(output)] = any;
  }
  return depends;
}

}  // namespace

std::vector<ValueId> differentiate(Graph& graph, ValueId loss) {
  HEADWAY_CHECK(graph.value(loss).type.shape.elements() == 1, "the loss must be a scalar");
  const std::vector<bool> depends = depends_on_parameters(graph);
  const std::size_t forward_nodes = graph.nodes().size();
  // The gradient of each forward value; several uses are added in the order in which the walk meets them.
  std::vector<ValueId> gradients(depends.size(), kNoValue);

  graph.set_phase(Phase::kBackward);
  graph.set_scope("loss.grad");
  gradients[static_cast<std::size_t>(loss)] =
      graph.add_one(fill_op(), FillAttributes{1.0, graph.value(loss).type.shape.dims()}.to_attributes(), {});

  for (std::size_t index = forward_nodes; index-- > 0;) {
    const Node node = graph.nodes()[index];
    std::vector<ValueId> output_gradients;
    for (const ValueId output : node.outputs) output_gradients.push_back(gradients[static_cast<std::size_t>(output)]);
    const bool reached = std::any_of(output_gradients.begin(), output_gradients.end(),
                                     [](ValueId gradient) { return gradient != kNoValue; });
    std::vector<bool> needed;
    for (const ValueId input : node.inputs) needed.push_back(depends[static_cast<std::size_t>(input)]);
    if (!reached || std::none_of(needed.begin(), needed.end(), [](bool need) { return need; })) continue;

    graph.set_scope(node.name + ".grad");
    GradientContext context(graph, node, std::move(output_gradients), needed);
    const std::vector<ValueId> input_gradients = node.op->gradient(context);
    HEADWAY_CHECK(input_gradients.size() == node.inputs.size(),
                  fmt::format("{} returned {} gradients for {} inputs", node.op->name(), input_gradients.size(),
                              node.inputs.size()));
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      if (!needed[input] || input_gradients[input] == kNoValue) continue;
      ValueId& sum = gradients[static_cast<std::size_t>(node.inputs[input])];
      sum = sum == kNoValue ? input_gradients[input] : add(graph, sum, input_gradients[input]);
    }
  }

  std::vector<ValueId> result;
  for (const Parameter& parameter : graph.parameters()) {
    result.push_back(gradients[static_cast<std::size_t>(parameter.value)]);
  }
  return result;
}

}  // namespace headway::graph
