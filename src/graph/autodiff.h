// Reverse-mode differentiation of a graph: appends the backward nodes.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace headway::graph {

// What an op's gradient() sees: its node, the gradients of its outputs, and the graph to add nodes to.
class GradientContext {
 public:
  GradientContext(Graph& graph, const Node& node, std::vector<ValueId> output_gradients, std::vector<bool> needed);

  Graph& graph() { return graph_; }
  const Attributes& attributes() const { return node_.attributes; }
  std::size_t inputs() const { return node_.inputs.size(); }
  ValueId input(std::size_t index) const { return node_.inputs.at(index); }
  ValueId output(std::size_t index) const { return node_.outputs.at(index); }
  // kNoValue when nothing downstream depends on that output.
  ValueId output_gradient(std::size_t index) const { return output_gradients_.at(index); }
  // Whether anybody wants the gradient of that input; an op must not compute what nobody wants.
  bool needs(std::size_t index) const { return needed_.at(index); }
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }

 private:
  Graph& graph_;
  Node node_;  // a copy: the graph's nodes move when the gradient adds some
  std::vector<ValueId> output_gradients_;
  std::vector<bool> needed_;
};

// Appends the gradient of the scalar `loss` with respect to every parameter, in phase backward, and returns one
// gradient per parameter of the graph (kNoValue for one that is not trained or that the loss does not depend on).
std::vector<ValueId> differentiate(Graph& graph, ValueId loss);

}  // namespace headway::graph
