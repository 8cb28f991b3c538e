#include "graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <queue>

#include "base/error.h"

namespace headway::graph {

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
  }
  return "?";
}

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kActivation:
      return "activation";
    case Role::kInput:
      return "input";
    case Role::kParameter:
      return "parameter";
    case Role::kState:
      return "state";
  }
  return "?";
}

ValueId Graph::add_value(std::string name, TensorType type, Role role) {
  values_.push_back({std::move(name), std::move(type), role, kNoNode});
  return static_cast<ValueId>(values_.size()) - 1;
}

ValueId Graph::add_input(std::string name, TensorType type) {
  return add_value(std::move(name), std::move(type), Role::kInput);
}

ValueId Graph::add_parameter(std::string name, Shape shape, Initializer initializer, bool decays) {
  const ValueId value = add_value(std::move(name), {DType::kF32, std::move(shape)}, Role::kParameter);
  parameters_.push_back({value, initializer, decays});
  return value;
}

ValueId Graph::add_statistic(std::string name, Shape shape, double initial) {
  const ValueId value = add_parameter(std::move(name), std::move(shape), {Initializer::Kind::kFill, initial}, false);
  parameters_.back().trained = false;
  return value;
}

ValueId Graph::add_state(std::string name, TensorType type) {
  return add_value(std::move(name), std::move(type), Role::kState);
}

ValueId Graph::new_value(std::string name, TensorType type) {
  return add_value(std::move(name), std::move(type), Role::kActivation);
}

std::vector<ValueId> Graph::add(const Op& op, Attributes attributes, std::vector<ValueId> inputs) {
  std::vector<TensorType> types;
  for (const ValueId input : inputs) types.push_back(value(input).type);
  const std::vector<TensorType> results = op.infer(attributes, types);
  const std::vector<Alias> aliases = op.aliases(attributes, static_cast<std::int64_t>(inputs.size()));

  Node node{&op, std::move(attributes), std::move(inputs), {}, phase_, scope_};
  const auto id = static_cast<NodeId>(nodes_.size());
  for (std::size_t index = 0; index < results.size(); ++index) {
    std::string name = scope_.empty() ? std::string(op.name()) : scope_;
    Role role = Role::kActivation;
    for (const Alias& alias : aliases) {
      if (alias.output != static_cast<std::int64_t>(index)) continue;
      const Value& old = value(node.inputs[static_cast<std::size_t>(alias.input)]);
      name = old.name;
      role = old.role;
    }
    node.outputs.push_back(add_value(std::move(name), results[index], role));
    values_.back().producer = id;
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

ValueId Graph::add_one(const Op& op, Attributes attributes, std::vector<ValueId> inputs) {
  return add(op, std::move(attributes), std::move(inputs)).front();
}

void Graph::add_output(std::string name, ValueId value) {
  HEADWAY_CHECK(value != kNoValue, "output '" + name + "' is no value");
  outputs_.emplace_back(std::move(name), value);
}

void Graph::replace_output(ValueId from, ValueId to) {
  for (auto& [name, value] : outputs_) {
    if (value == from) value = to;
  }
}

ValueId Graph::find(std::string_view name) const {
  for (const auto& [output, id] : outputs_) {
    if (output == name) return id;
  }
  for (std::size_t index = 0; index < values_.size(); ++index) {
    const Value& candidate = values_[index];
    if (candidate.name == name && candidate.producer == kNoNode && candidate.role != Role::kActivation) {
      return static_cast<ValueId>(index);
    }
  }
  return kNoValue;
}

std::vector<TensorType> Graph::input_types(const Node& node) const {
  std::vector<TensorType> types;
  for (const ValueId input : node.inputs) types.push_back(value(input).type);
  return types;
}

std::vector<TensorType> Graph::output_types(const Node& node) const {
  std::vector<TensorType> types;
  for (const ValueId output : node.outputs) types.push_back(value(output).type);
  return types;
}

OpCost Graph::cost(const Node& node) const {
  return node.op->cost(node.attributes, input_types(node), output_types(node));
}

std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.values().size());
  for (std::size_t index = 0; index < graph.nodes().size(); ++index) {
    for (const ValueId input : graph.nodes()[index].inputs) {
      std::vector<NodeId>& of_value = readers[static_cast<std::size_t>(input)];
      const auto id = static_cast<NodeId>(index);
      if (of_value.empty() || of_value.back() != id) of_value.push_back(id);
    }
  }
  return readers;
}

namespace {

// Edges "before -> after": data dependencies, and readers before an in-place update of what they read.
std::vector<std::vector<std::size_t>> successors_of(const std::vector<Node>& nodes, std::size_t value_count) {
  std::vector<std::vector<std::size_t>> readers(value_count);
  std::vector<std::size_t> producer(value_count, nodes.size());
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    for (const ValueId output : nodes[index].outputs) producer[static_cast<std::size_t>(output)] = index;
  }
  // The value whose bytes a value is: through views to what they are a view of.
  const auto bytes_of = [&](ValueId value) {
    for (std::size_t steps = 0; steps < nodes.size(); ++steps) {
      const std::size_t from = producer[static_cast<std::size_t>(value)];
      if (from == nodes.size() || !nodes[from].op->is_view()) break;
      value = nodes[from].inputs[0];
    }
    return static_cast<std::size_t>(value);
  };
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    for (const ValueId input : nodes[index].inputs) readers[bytes_of(input)].push_back(index);
  }
  std::vector<std::vector<std::size_t>> successors(nodes.size());
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    const Node& node = nodes[index];
    for (const ValueId input : node.inputs) {
      const std::size_t from = producer[static_cast<std::size_t>(input)];
      if (from != nodes.size()) successors[from].push_back(index);
    }
    for (const Alias& alias : node.op->aliases(node.attributes, static_cast<std::int64_t>(node.inputs.size()))) {
      for (const std::size_t reader : readers[bytes_of(node.inputs[static_cast<std::size_t>(alias.input)])]) {
        if (reader != index) successors[reader].push_back(index);
      }
    }
  }
  return successors;
}

}  // namespace

void Graph::set_nodes(std::vector<Node> nodes) {
  // Kahn's algorithm; among the ready nodes the one that stood first goes first, so the order is stable.
  const auto successors = successors_of(nodes, values_.size());
  std::vector<std::size_t> waiting(nodes.size(), 0);
  for (const auto& list : successors) {
    for (const std::size_t node : list) ++waiting[node];
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    if (waiting[index] == 0) ready.push(index);
  }
  nodes_.clear();
  for (Value& value : values_) value.producer = kNoNode;
  while (!ready.empty()) {
    const std::size_t index = ready.top();
    ready.pop();
    for (const ValueId output : nodes[index].outputs) {
      values_[static_cast<std::size_t>(output)].producer = static_cast<NodeId>(nodes_.size());
    }
    nodes_.push_back(std::move(nodes[index]));
    for (const std::size_t next : successors[index]) {
      if (--waiting[next] == 0) ready.push(next);
    }
  }
  HEADWAY_CHECK(nodes_.size() == nodes.size(), fmt::format("{} nodes are on a cycle", nodes.size() - nodes_.size()));
}

std::string to_string(const Graph& graph) {
  std::string text;
  const auto line_out = [&](const Node& node) {
    std::vector<std::string> outputs;
    for (const ValueId output : node.outputs) {
      outputs.push_back(fmt::format("%{} {}", output, to_string(graph.value(output).type)));
    }
    std::vector<std::string> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(fmt::format("%{}", input));
    const std::string attributes = to_string(node.attributes);
    text +=
        fmt::format("{} = {}({}){}{}  # {} {}\n", fmt::join(outputs, ", "), node.op->name(), fmt::join(inputs, ", "),
                    attributes.empty() ? "" : " ", attributes, name_of(node.phase), node.name);
  };
  for (std::size_t index = 0; index < graph.values().size(); ++index) {
    const Value& value = graph.values()[index];
    if (value.producer != kNoNode || value.role == Role::kActivation) continue;
    text += fmt::format("%{} {} = {}  # {}\n", index, to_string(value.type), name_of(value.role), value.name);
  }
  for (const Node& node : graph.nodes()) line_out(node);
  for (const auto& [name, value] : graph.outputs()) text += fmt::format("output {} = %{}\n", name, value);
  return text;
}

Flops total_flops(const Graph& graph) {
  Flops total;
  for (const Node& node : graph.nodes()) total += graph.cost(node).flops;
  return total;
}

void verify(const Graph& graph) {
  std::vector<bool> made(graph.values().size(), false), overwritten(graph.values().size(), false);
  for (std::size_t index = 0; index < graph.values().size(); ++index) {
    const Value& value = graph.values()[index];
    made[index] = value.role != Role::kActivation && value.producer == kNoNode;
  }
  // The value whose bytes a value is: a view has those of its input.
  std::vector<std::size_t> bytes_of(graph.values().size());
  std::iota(bytes_of.begin(), bytes_of.end(), std::size_t{0});
  for (const Node& node : graph.nodes()) {
    const auto where = [&] { return fmt::format("{} ({})", node.op->name(), node.name); };
    for (const ValueId input : node.inputs) {
      const auto at = static_cast<std::size_t>(input);
      HEADWAY_CHECK(at < made.size() && made[at], fmt::format("{} reads %{} before it is made", where(), input));
      HEADWAY_CHECK(!overwritten[bytes_of[at]], fmt::format("{} reads %{} after it was overwritten", where(), input));
    }
    const std::vector<TensorType> types = node.op->infer(node.attributes, graph.input_types(node));
    HEADWAY_CHECK(types.size() == node.outputs.size(),
                  fmt::format("{} has {} outputs, its op makes {}", where(), node.outputs.size(), types.size()));
    for (std::size_t index = 0; index < types.size(); ++index) {
      const ValueId output = node.outputs[index];
      HEADWAY_CHECK(!made[static_cast<std::size_t>(output)], fmt::format("{} makes %{} again", where(), output));
      HEADWAY_CHECK(graph.value(output).type == types[index],
                    fmt::format("{}: %{} is {}, its op makes {}", where(), output, to_string(graph.value(output).type),
                                to_string(types[index])));
      made[static_cast<std::size_t>(output)] = true;
      if (node.op->is_view()) {
        bytes_of[static_cast<std::size_t>(output)] = bytes_of[static_cast<std::size_t>(node.inputs[0])];
      }
    }
    for (const Alias& alias : node.op->aliases(node.attributes, static_cast<std::int64_t>(node.inputs.size()))) {
      const ValueId input = node.inputs[static_cast<std::size_t>(alias.input)];
      overwritten[bytes_of[static_cast<std::size_t>(input)]] = true;
    }
  }
  for (const auto& [name, value] : graph.outputs()) {
    HEADWAY_CHECK(made.at(static_cast<std::size_t>(value)), fmt::format("output {} (%{}) is never made", name, value));
    HEADWAY_CHECK(!overwritten[bytes_of[static_cast<std::size_t>(value)]],
                  fmt::format("output {} is overwritten", name));
  }
}

}  // namespace headway::graph
