#include "graph/ops/arithmetic.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/rmsnorm.h"
#include "graph/passes/fusion.h"
#include "graph/passes/rewriter.h"

namespace headway::graph {
namespace {

// Marks a norm as one that adds a residual (`flag` of its attributes), unless it does already.
template <class NormAttributes>
bool mark(Node& node, bool NormAttributes::*flag) {
  NormAttributes attributes = NormAttributes::from(node.attributes);
  if (attributes.*flag) return false;
  attributes.*flag = true;
  node.attributes = attributes.to_attributes();
  return true;
}

bool take_residual(Node& node) {
  if (node.op == &layernorm_op()) return mark(node, &LayerNormAttributes::residual);
  return node.op == &rmsnorm_op() && mark(node, &RmsNormAttributes::residual);
}

bool take_extra(Node& node) {
  if (node.op == &layernorm_grad_op()) return mark(node, &LayerNormGradAttributes::extra);
  return mark(node, &RmsNormGradAttributes::extra);
}

bool fuse_forward(Graph& types, Rewriter& graph, std::size_t sum) {
  const Node& add = graph.node(sum);
  if (types.value(add.inputs[0]).type != types.value(add.inputs[1]).type) return false;  // a broadcast
  for (const std::size_t reader : graph.readers(add.outputs[0])) {
    Node& norm = graph.node(reader);
    if (norm.inputs[0] != add.outputs[0] || !take_residual(norm)) continue;
    graph.set_input(reader, 0, add.inputs[0]);
    graph.add_input(reader, add.inputs[1]);
    norm.outputs.push_back(add.outputs[0]);
    graph.remove(sum);
    return true;
  }
  return false;
}

bool fuse_backward(Graph& types, Rewriter& graph, std::size_t index) {
  Node& norm = graph.node(index);
  const std::size_t sum = graph.only_reader(norm.outputs[0], add_op());
  if (sum == graph.size()) return false;
  const Node& add = graph.node(sum);
  const ValueId other = add.inputs[0] == norm.outputs[0] ? add.inputs[1] : add.inputs[0];
  if (other == norm.outputs[0] || types.value(other).type != types.value(norm.outputs[0]).type) return false;
  if (!take_extra(norm)) return false;
  graph.add_input(index, other);
  norm.outputs[0] = add.outputs[0];
  graph.remove(sum);
  return true;
}

}  // namespace

std::int64_t fuse_residual_norm(Graph& graph) {
  Rewriter rewriter(graph);
  std::int64_t count = 0;
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    if (!rewriter.alive(index)) continue;
    if (rewriter.node(index).op == &add_op()) count += fuse_forward(graph, rewriter, index) ? 1 : 0;
  }
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    if (!rewriter.alive(index)) continue;
    const Op* op = rewriter.node(index).op;
    if (op != &layernorm_grad_op() && op != &rmsnorm_grad_op()) continue;
    count += fuse_backward(graph, rewriter, index) ? 1 : 0;
  }
  return rewriter.finish(count);
}

}  // namespace headway::graph
