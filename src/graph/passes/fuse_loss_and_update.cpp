#include <algorithm>

#include "graph/ops/arithmetic.h"
#include "graph/ops/loss.h"
#include "graph/ops/optimizer.h"
#include "graph/passes/fusion.h"
#include "graph/passes/rewriter.h"

namespace headway::graph {
namespace {

// The node that makes a value; size() for graph inputs.
std::size_t producer_of(Rewriter& graph, ValueId value) {
  for (std::size_t index = 0; index < graph.size(); ++index) {
    const std::vector<ValueId>& outputs = graph.node(index).outputs;
    if (graph.alive(index) && std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return index;
  }
  return graph.size();
}

bool fuse_cross_entropy_at(Rewriter& graph, std::size_t index) {
  Node& node = graph.node(index);
  CrossEntropyAttributes attributes = CrossEntropyAttributes::from(node.attributes);
  if (attributes.with_grad) return false;
  const std::size_t grad = graph.only_reader(node.outputs[1], cross_entropy_grad_op());
  if (grad == graph.size()) return false;
  // The gradient of the loss must be known before the loss: a constant is.
  const ValueId loss_gradient = graph.node(grad).inputs[3];
  const std::size_t constant = producer_of(graph, loss_gradient);
  if (constant == graph.size() || graph.node(constant).op != &fill_op()) return false;
  graph.node(constant).phase = node.phase;
  attributes.with_grad = true;
  node.attributes = attributes.to_attributes();
  graph.add_input(index, loss_gradient);
  node.outputs[1] = graph.node(grad).outputs[0];
  graph.remove(grad);
  return true;
}

// Appends the operands of `from` behind those of `into` when both update the same way.
bool merge_updates(Node& into, const Node& from) {
  Attributes mine = into.attributes, theirs = from.attributes;
  std::vector<std::int64_t> mask = mine.list("decay_mask");
  const std::vector<std::int64_t> more = theirs.list("decay_mask");
  mine.set("decay_mask", std::vector<std::int64_t>{});
  theirs.set("decay_mask", std::vector<std::int64_t>{});
  const std::size_t head = mine.number("clip") > 0 ? 2 : 1;
  if (into.op != from.op || mine != theirs ||
      !std::equal(into.inputs.begin(), into.inputs.begin() + static_cast<std::ptrdiff_t>(head), from.inputs.begin())) {
    return false;
  }
  mask.insert(mask.end(), more.begin(), more.end());
  into.attributes.set("decay_mask", mask);
  into.inputs.insert(into.inputs.end(), from.inputs.begin() + static_cast<std::ptrdiff_t>(head), from.inputs.end());
  into.outputs.insert(into.outputs.end(), from.outputs.begin(), from.outputs.end());
  into.name = "update";
  return true;
}

}  // namespace

std::int64_t fuse_cross_entropy(Graph& graph) {
  Rewriter rewriter(graph);
  std::int64_t count = 0;
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    if (!rewriter.alive(index) || rewriter.node(index).op != &cross_entropy_op()) continue;
    count += fuse_cross_entropy_at(rewriter, index) ? 1 : 0;
  }
  return rewriter.finish(count);
}

std::int64_t fuse_optimizer(Graph& graph) {
  Rewriter rewriter(graph);
  std::int64_t count = 0;
  std::size_t first = rewriter.size();
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    const Op* op = rewriter.node(index).op;
    if (op != &adamw_op() && op != &sgd_op()) continue;
    if (first == rewriter.size()) {
      first = index;
    } else if (merge_updates(rewriter.node(first), rewriter.node(index))) {
      rewriter.remove(index);
      ++count;
    }
  }
  return rewriter.finish(count);
}

std::int64_t remove_dead(Graph& graph) {
  Rewriter rewriter(graph);
  std::vector<bool> wanted(graph.values().size(), false);
  for (const auto& [name, value] : graph.outputs()) wanted[static_cast<std::size_t>(value)] = true;
  std::int64_t count = 0;
  for (std::size_t index = rewriter.size(); index-- > 0;) {
    const Node& node = rewriter.node(index);
    const bool updates = !node.op->aliases(node.attributes, static_cast<std::int64_t>(node.inputs.size())).empty();
    const bool used = updates || std::any_of(node.outputs.begin(), node.outputs.end(),
                                             [&](ValueId output) { return wanted[static_cast<std::size_t>(output)]; });
    if (!used) {
      rewriter.remove(index);
      ++count;
      continue;
    }
    for (const ValueId input : node.inputs) wanted[static_cast<std::size_t>(input)] = true;
  }
  return rewriter.finish(count);
}

}  // namespace headway::graph
