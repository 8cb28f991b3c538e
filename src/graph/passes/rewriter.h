// A working copy of a graph's nodes for a pass: who reads what, removal, and the final write-back.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace headway::graph {

class Rewriter {
 public:
  explicit Rewriter(Graph& graph);

  std::size_t size() const { return nodes_.size(); }
  Node& node(std::size_t index) { return nodes_[index]; }
  bool alive(std::size_t index) const { return alive_[index]; }
  void remove(std::size_t index);
  // Adds an operand to a node; operands are otherwise replaced in place through set_input.
  void add_input(std::size_t index, ValueId value);
  void set_input(std::size_t index, std::size_t operand, ValueId value);

  // The living nodes that read a value, in order.
  std::vector<std::size_t> readers(ValueId value) const;
  // The only living reader, when it is of that op and the value is no graph output; else size().
  std::size_t only_reader(ValueId value, const Op& op) const;
  bool is_output(ValueId value) const;

  // Writes the living nodes back; returns `rewrites` for the pass to return.
  std::int64_t finish(std::int64_t rewrites);

 private:
  Graph& graph_;
  std::vector<Node> nodes_;
  std::vector<bool> alive_;
  std::vector<std::vector<std::size_t>> candidates_;  // by value: nodes that read it once; some may not any more
};

}  // namespace headway::graph
