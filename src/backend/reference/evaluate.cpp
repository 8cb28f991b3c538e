#include <fmt/core.h>

#include "backend/reference/reference.h"
#include "base/error.h"

namespace headway::backend::reference {
namespace {

Function find_function(const graph::Op& op) {
  for (const ReferenceRow& row : reference_table()) {
    if (&row.op() == &op) return row.function;
  }
  throw InternalError(fmt::format("reference: no row for op {}", op.name()));
}

}  // namespace

std::vector<Tensor> run_op(const graph::Op& op, const graph::Attributes& attributes, graph::Types input_types,
                           graph::Types output_types, const std::vector<Tensor>& inputs) {
  HEADWAY_CHECK(inputs.size() == input_types.size(),
                fmt::format("{}: {} inputs, {} types", op.name(), inputs.size(), input_types.size()));
  for (std::size_t index = 0; index < inputs.size(); ++index) {
    HEADWAY_CHECK(static_cast<std::int64_t>(inputs[index].size()) == input_types[index].shape.elements(),
                  fmt::format("{}: input {} has {} elements, its type is {}", op.name(), index, inputs[index].size(),
                              graph::to_string(input_types[index])));
  }
  std::vector<Tensor> outputs;
  for (const graph::TensorType& type : output_types) {
    outputs.emplace_back(static_cast<std::size_t>(type.shape.elements()), 0.0);
  }
  find_function(op)(Call{attributes, input_types, output_types, inputs, outputs});
  return outputs;
}

const Tensor& Values::at(std::string_view name) const {
  const graph::ValueId id = graph_->find(name);
  HEADWAY_CHECK(id != graph::kNoValue, fmt::format("reference: no value '{}'", name));
  return at(id);
}

const Tensor& Values::updated(graph::ValueId id) const {
  for (const graph::Node& node : graph_->nodes()) {
    for (const graph::Alias& alias : node.op->aliases(node.attributes, static_cast<std::int64_t>(node.inputs.size()))) {
      if (node.inputs.at(static_cast<std::size_t>(alias.input)) == id) {
        id = node.outputs.at(static_cast<std::size_t>(alias.output));
      }
    }
  }
  return at(id);
}

Values evaluate(const graph::Graph& graph, const std::map<std::string, Tensor>& given, graph::Phase last) {
  std::vector<Tensor> tensors(graph.values().size());
  for (std::size_t id = 0; id < tensors.size(); ++id) {
    const graph::Value& value = graph.values()[id];
    if (value.role == graph::Role::kActivation || value.producer != graph::kNoNode) continue;
    const auto found = given.find(value.name);
    if (found != given.end()) tensors[id] = found->second;
  }
  for (const graph::Node& node : graph.nodes()) {
    if (node.phase > last) continue;
    std::vector<Tensor> inputs;
    for (const graph::ValueId id : node.inputs) {
      const graph::Value& value = graph.value(id);
      HEADWAY_CHECK(
          static_cast<std::int64_t>(tensors[static_cast<std::size_t>(id)].size()) == value.type.shape.elements(),
          fmt::format("reference: {} of node '{}' needs '{}' (%{}) of type {}, given {} elements", node.op->name(),
                      node.name, value.name, id, graph::to_string(value.type),
                      tensors[static_cast<std::size_t>(id)].size()));
      inputs.push_back(tensors[static_cast<std::size_t>(id)]);
    }
    std::vector<Tensor> outputs =
        run_op(*node.op, node.attributes, graph.input_types(node), graph.output_types(node), inputs);
    for (std::size_t index = 0; index < outputs.size(); ++index) {
      tensors[static_cast<std::size_t>(node.outputs[index])] = std::move(outputs[index]);
    }
  }
  return Values(graph, std::move(tensors));
}

}  // namespace headway::backend::reference
