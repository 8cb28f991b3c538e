#include "graph/passes/rewriter.h"

#include <algorithm>

namespace headway::graph {

Rewriter::Rewriter(Graph& graph)
    : graph_(graph), nodes_(graph.nodes()), alive_(nodes_.size(), true), candidates_(graph.values().size()) {
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    for (const ValueId input : nodes_[index].inputs) candidates_[static_cast<std::size_t>(input)].push_back(index);
  }
}

void Rewriter::remove(std::size_t index) {
  alive_[index] = false;
}

void Rewriter::add_input(std::size_t index, ValueId value) {
  nodes_[index].inputs.push_back(value);
  candidates_[static_cast<std::size_t>(value)].push_back(index);
}

void Rewriter::set_input(std::size_t index, std::size_t operand, ValueId value) {
  nodes_[index].inputs.at(operand) = value;
  candidates_[static_cast<std::size_t>(value)].push_back(index);
}

std::vector<std::size_t> Rewriter::readers(ValueId value) const {
  std::vector<std::size_t> result;
  for (const std::size_t index : candidates_[static_cast<std::size_t>(value)]) {
    const std::vector<ValueId>& inputs = nodes_[index].inputs;
    if (alive_[index] && std::find(inputs.begin(), inputs.end(), value) != inputs.end()) result.push_back(index);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::size_t Rewriter::only_reader(ValueId value, const Op& op) const {
  const std::vector<std::size_t> all = readers(value);
  if (all.size() != 1 || is_output(value) || nodes_[all[0]].op != &op) return nodes_.size();
  return all[0];
}

bool Rewriter::is_output(ValueId value) const {
  return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                     [&](const auto& output) { return output.second == value; });
}

std::int64_t Rewriter::finish(std::int64_t rewrites) {
  if (rewrites == 0) return 0;
  std::vector<Node> kept;
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    if (alive_[index]) kept.push_back(std::move(nodes_[index]));
  }
  graph_.set_nodes(std::move(kept));
  return rewrites;
}

}  // namespace headway::graph
