#include <algorithm>

#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/batchnorm.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/grouped_linear.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/pool.h"
#include "graph/ops/shape_ops.h"
#include "graph/passes/fusion.h"
#include "graph/passes/rewriter.h"

namespace headway::graph {
namespace {

// The first reader of `value` that is an activation; size() when there is none.
std::size_t activation_of(Rewriter& graph, ValueId value) {
  for (const std::size_t reader : graph.readers(value)) {
    if (graph.node(reader).op == &activation_op()) return reader;
  }
  return graph.size();
}

// `gradient` is the op that differentiates the norm; both norms have their mean as second output, and as third operand
// of the gradient.
bool fuse_norm_activation_at(Rewriter& graph, std::size_t norm, const Op& gradient) {
  Node& forward = graph.node(norm);
  const ValueId normalised = forward.outputs[0];
  const std::size_t act = activation_of(graph, normalised);
  const bool fused = Activation::from(forward.attributes, "activation") != Activation::kNone;
  if (fused || graph.is_output(normalised) || act == graph.size()) return false;
  const Activation kind = ActivationAttributes::from(graph.node(act).attributes).kind;
  const ValueId activated = graph.node(act).outputs[0];

  // In training graphs the gradient reads the normalised value (GELU, SiLU) or the activated one (the others); it must
  // feed this norm's gradient and nothing else.
  const ValueId saved = gradient_uses_output(kind) ? activated : normalised;
  std::size_t act_grad = graph.size(), norm_grad = graph.size();
  for (const std::size_t reader : graph.readers(saved)) {
    const Node& candidate = graph.node(reader);
    if (candidate.op == &activation_grad_op() && candidate.inputs[1] == saved) act_grad = reader;
  }
  if (act_grad != graph.size()) {
    norm_grad = graph.only_reader(graph.node(act_grad).outputs[0], gradient);
    if (norm_grad == graph.size() || graph.node(norm_grad).inputs[2] != forward.outputs[1]) return false;
  }
  for (const std::size_t reader : graph.readers(normalised)) {
    if (reader != act && reader != act_grad) return false;
  }

  kind.write(forward.attributes, "activation");
  forward.outputs[0] = activated;
  graph.remove(act);
  if (act_grad != graph.size()) {
    Node& backward = graph.node(norm_grad);
    kind.write(backward.attributes, "activation");
    graph.set_input(norm_grad, 0, graph.node(act_grad).inputs[0]);
    graph.remove(act_grad);
  }
  return true;
}

bool fuse_linear_activation(Rewriter& graph, std::size_t index) {
  Node& node = graph.node(index);
  LinearAttributes attributes = LinearAttributes::from(node.attributes);
  const ValueId before = node.outputs[0];
  const std::size_t act = activation_of(graph, before);
  if (attributes.activation != Activation::kNone || act == graph.size()) return false;
  attributes.activation = ActivationAttributes::from(graph.node(act).attributes).kind;
  attributes.keep_pre = graph.readers(before).size() > 1 || graph.is_output(before);
  node.outputs = {graph.node(act).outputs[0]};
  if (attributes.keep_pre) node.outputs.push_back(before);
  node.attributes = attributes.to_attributes();
  graph.remove(act);
  return true;
}

bool fuse_conv_activation(Rewriter& graph, std::size_t index) {
  Node& node = graph.node(index);
  Conv2dAttributes attributes = Conv2dAttributes::from(node.attributes);
  // conv1d reshapes what conv2d makes; the activation may as well come before.
  const std::size_t view = graph.only_reader(node.outputs[0], reshape_op());
  const ValueId before = view == graph.size() ? node.outputs[0] : graph.node(view).outputs[0];
  const std::size_t act = graph.only_reader(before, activation_op());
  if (attributes.activation != Activation::kNone || act == graph.size()) return false;
  attributes.activation = ActivationAttributes::from(graph.node(act).attributes).kind;
  (view == graph.size() ? node : graph.node(view)).outputs = {graph.node(act).outputs[0]};
  node.attributes = attributes.to_attributes();
  graph.remove(act);
  return true;
}

// The node that makes `value`, when it is a reshape; else size().
std::size_t reshape_to(Rewriter& graph, ValueId value) {
  for (std::size_t index = 0; index < graph.size(); ++index) {
    if (graph.alive(index) && graph.node(index).op == &reshape_op() && graph.node(index).outputs[0] == value) {
      return index;
    }
  }
  return graph.size();
}

bool fuse_activation_conv_grad_at(Rewriter& graph, const Graph& values, std::size_t index) {
  const Node& act = graph.node(index);
  if (act.op != &activation_grad_op()) return false;
  const auto attributes = ActivationGradAttributes::from(act.attributes);
  if (attributes.bias_grad || !gradient_uses_output(attributes.kind) || graph.is_output(act.outputs[0])) return false;
  ValueId dy = act.inputs[0], saved = act.inputs[1], gradient = act.outputs[0];
  // conv1d: what it reshaped after the activation is reshaped back here, so both can be had before.
  const std::size_t view = graph.only_reader(gradient, reshape_op());
  if (view != graph.size()) {
    const std::size_t saved_view = reshape_to(graph, saved);
    if (saved_view == graph.size()) return false;
    gradient = graph.node(view).outputs[0];
    saved = graph.node(saved_view).inputs[0];
  }
  const std::vector<std::size_t> gradients = graph.readers(gradient);
  for (const std::size_t reader : gradients) {
    const Node& conv = graph.node(reader);
    if (conv.op != &conv2d_grad_input_op() && conv.op != &conv2d_grad_weight_op()) return false;
    if (conv.inputs[0] != gradient || conv.inputs.size() > 2 || conv.inputs[1] == gradient) return false;
  }
  if (gradients.empty() || graph.is_output(gradient)) return false;
  if (view != graph.size()) {
    if (values.value(saved).type != values.value(gradient).type) return false;
    graph.set_input(view, 0, dy);
    dy = gradient;
  }
  for (const std::size_t reader : gradients) {
    attributes.kind.write(graph.node(reader).attributes, "activation");
    graph.set_input(reader, 0, dy);
    graph.add_input(reader, saved);
  }
  graph.remove(index);
  return true;
}

}  // namespace

std::int64_t fuse_norm_activation(Graph& graph) {
  Rewriter rewriter(graph);
  std::int64_t count = 0;
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    if (!rewriter.alive(index)) continue;
    const Op* op = rewriter.node(index).op;
    if (op == &layernorm_op()) count += fuse_norm_activation_at(rewriter, index, layernorm_grad_op()) ? 1 : 0;
    if (op == &batchnorm_op()) count += fuse_norm_activation_at(rewriter, index, batchnorm_grad_op()) ? 1 : 0;
  }
  return rewriter.finish(count);
}

std::int64_t fuse_activation_norm_grad(Graph& graph) {
  Rewriter rewriter(graph);
  std::int64_t count = 0;
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    if (!rewriter.alive(index) || rewriter.node(index).op != &batchnorm_grad_op()) continue;
    Node& norm = rewriter.node(index);
    BatchNormGradAttributes attributes = BatchNormGradAttributes::from(norm.attributes);
    const std::size_t reader = rewriter.only_reader(norm.outputs[0], activation_grad_op());
    if (reader == rewriter.size() || attributes.activation != Activation::kNone) continue;
    const Node& act = rewriter.node(reader);
    const auto of_act = ActivationGradAttributes::from(act.attributes);
    if (act.inputs[1] != norm.inputs[1] || !gradient_uses_output(of_act.kind) || of_act.bias_grad) continue;
    attributes.before = of_act.kind;
    norm.attributes = attributes.to_attributes();
    norm.outputs[0] = act.outputs[0];
    rewriter.remove(reader);
    ++count;
  }
  return rewriter.finish(count);
}

std::int64_t fuse_bias_activation(Graph& graph) {
  Rewriter rewriter(graph);
  std::int64_t count = 0;
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    if (!rewriter.alive(index)) continue;
    const Op* op = rewriter.node(index).op;
    if (op == &linear_op() || op == &grouped_linear_op()) count += fuse_linear_activation(rewriter, index) ? 1 : 0;
    if (op == &conv2d_op()) count += fuse_conv_activation(rewriter, index) ? 1 : 0;
  }
  return rewriter.finish(count);
}

std::int64_t pool_activation_grad(Graph& graph) {
  std::int64_t count = 0;
  std::vector<Node> nodes(graph.nodes());
  const Rewriter readers(graph);
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    Node& first = nodes[index];
    if (first.op != &max_pool2d_grad_op()) continue;
    const std::size_t reader = readers.only_reader(first.outputs[0], activation_grad_op());
    if (reader == nodes.size() || nodes[reader].inputs[0] != first.outputs[0]) continue;
    Node& second = nodes[reader];
    const auto act = ActivationGradAttributes::from(second.attributes);
    const Value& position = graph.value(first.inputs[1]);
    if (act.bias_grad || !gradient_uses_output(act.kind) || position.producer == kNoNode) continue;
    const Node& pool = graph.node(position.producer);
    if (pool.op != &max_pool2d_op() || pool.inputs[0] != second.inputs[1]) continue;
    // The two trade places, with a value of the pooled size between them.
    const ValueId between =
        graph.new_value(graph.value(first.outputs[0]).name + ".pooled", graph.value(first.inputs[0]).type);
    std::swap(first.op, second.op);
    std::swap(first.attributes, second.attributes);
    std::swap(first.name, second.name);
    second.inputs = {between, first.inputs[1]};
    first.inputs = {first.inputs[0], pool.outputs[0]};
    first.outputs = {between};
    ++count;
  }
  if (count > 0) graph.set_nodes(std::move(nodes));
  return count;
}

std::int64_t fuse_activation_conv_grad(Graph& graph) {
  Rewriter rewriter(graph);
  std::int64_t count = 0;
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    if (rewriter.alive(index)) count += fuse_activation_conv_grad_at(rewriter, graph, index) ? 1 : 0;
  }
  return rewriter.finish(count);
}

std::int64_t fuse_bias_grad(Graph& graph) {
  Rewriter rewriter(graph);
  std::int64_t count = 0;
  for (std::size_t index = 0; index < rewriter.size(); ++index) {
    if (!rewriter.alive(index) || rewriter.node(index).op != &activation_grad_op()) continue;
    Node& node = rewriter.node(index);
    ActivationGradAttributes attributes = ActivationGradAttributes::from(node.attributes);
    if (attributes.bias_grad) continue;
    for (const std::size_t reader : rewriter.readers(node.outputs[0])) {
      const Node& sum = rewriter.node(reader);
      if (sum.op != &sum_leading_op() || SumLeadingAttributes::from(sum.attributes).keep != 1) continue;
      attributes.bias_grad = true;
      node.attributes = attributes.to_attributes();
      node.outputs.push_back(sum.outputs[0]);
      rewriter.remove(reader);
      ++count;
      break;
    }
  }
  return rewriter.finish(count);
}

}  // namespace headway::graph
