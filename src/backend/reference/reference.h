// The oracle: an fp64 interpreter of graphs in plain loops. Slow, and meant to be right at a glance.
//
// It knows every op and every fused form that src/graph/ops/*.h documents. Tensors are vectors of doubles in row-major
// order, integer tensors too (every i32 and u8, and the seeds in use, are exact in a double). Nothing is rounded to the
// dtype of a value: what a kernel of any dtype computes is compared with the result in exact arithmetic, up to fp64.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace headway::backend::reference {

using Tensor = std::vector<double>;

// One execution of an op. Outputs come sized to their types and zeroed.
struct Call {
  const graph::Attributes& attributes;
  graph::Types input_types;
  graph::Types output_types;
  const std::vector<Tensor>& inputs;
  std::vector<Tensor>& outputs;

  const Shape& in_shape(std::size_t index) const { return input_types[index].shape; }
  const Shape& out_shape(std::size_t index) const { return output_types[index].shape; }
};

using Function = void (*)(const Call& call);

struct ReferenceRow {
  const graph::Op& (*op)();
  Function function;
};

// Every op, in the order of table.cpp.
std::span<const ReferenceRow> reference_table();

// The outputs of one op. InternalError for an op without a row or operands of another size than their types.
std::vector<Tensor> run_op(const graph::Op& op, const graph::Attributes& attributes, graph::Types input_types,
                           graph::Types output_types, const std::vector<Tensor>& inputs);

// All values of a graph after an evaluation; empty for those of phases that were left out.
class Values {
 public:
  Values(const graph::Graph& graph, std::vector<Tensor> tensors) : graph_(&graph), tensors_(std::move(tensors)) {}

  const Tensor& at(graph::ValueId id) const { return tensors_.at(static_cast<std::size_t>(id)); }
  // The value of an input, parameter, state or output; InternalError for an unknown name.
  const Tensor& at(std::string_view name) const;
  // The last value in the chain of in-place updates of a parameter or a state: what the next step starts from.
  const Tensor& updated(graph::ValueId id) const;

 private:
  const graph::Graph* graph_;  // must outlive this object
  std::vector<Tensor> tensors_;
};

// Runs the nodes in order, up to the end of phase `last`. `given` has every input, parameter and state that these nodes
// read; InternalError with the name when one is missing or of another size.
Values evaluate(const graph::Graph& graph, const std::map<std::string, Tensor>& given,
                graph::Phase last = graph::Phase::kUpdate);

}  // namespace headway::backend::reference
