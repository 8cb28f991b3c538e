#include "graph/passes/recompute.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/ops/activation.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/rmsnorm.h"

namespace headway::graph {
namespace {

std::string block_of(const std::string& name) {
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (end > begin &&
        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(begin), name.begin() + static_cast<std::ptrdiff_t>(end),
                    [](unsigned char c) { return std::isdigit(c) != 0; })) {
      return name.substr(0, end);
    }
    begin = end + 1;
  }
  return name.substr(0, name.find('.'));
}

bool keeps_pre(const Node& node) {
  return node.op == &linear_op() && LinearAttributes::from(node.attributes).keep_pre;
}
// A norm whose last output is the sum that it normalises.
bool is_residual_norm(const Node& node) {
  if (node.op == &layernorm_op()) return LayerNormAttributes::from(node.attributes).residual;
  return node.op == &rmsnorm_op() && RmsNormAttributes::from(node.attributes).residual;
}

// The same norm of a sum that is given.
Attributes without_residual(const Node& node) {
  if (node.op == &rmsnorm_op()) {
    return RmsNormAttributes{RmsNormAttributes::from(node.attributes).eps, false}.to_attributes();
  }
  LayerNormAttributes attributes = LayerNormAttributes::from(node.attributes);
  attributes.residual = false;
  return attributes.to_attributes();
}

class Recomputation {
 public:
  Recomputation(Graph& graph, Recompute what)
      : graph_(graph), what_(what), saved_(graph.values().size(), false), kept_(graph.values().size(), true) {}

  std::int64_t run() {
    find_saved();
    for (const Node& node : graph_.nodes()) {
      if (node.phase == Phase::kForward) decide(node);
    }
    const std::vector<Node> nodes = graph_.nodes();
    for (const Node& node : nodes) emit(node);
    if (added_ > 0) graph_.set_nodes(std::move(result_));
    return added_;
  }

 private:
  using Index = std::size_t;

  bool is_made_forward(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    return producer != kNoNode && graph_.node(producer).phase == Phase::kForward;
  }
  const Node& producer_of(ValueId value) const { return graph_.node(graph_.value(value).producer); }
  bool saved(ValueId value) const { return saved_[static_cast<Index>(value)]; }
  bool kept(ValueId value) const { return kept_[static_cast<Index>(value)]; }
  void drop(ValueId value) { kept_[static_cast<Index>(value)] = false; }

  void find_saved() {
    for (const Node& node : graph_.nodes()) {
      if (node.phase == Phase::kForward) continue;
      for (const ValueId input : node.inputs) saved_[static_cast<Index>(input)] = true;
    }
    readers_ = readers_of(graph_);
    const ValueId loss = graph_.find("loss");
    if (loss != kNoValue && is_made_forward(loss)) loss_block_ = block_of(producer_of(loss).name);
  }

  bool is_output(ValueId value) const {
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                       [&](const auto& output) { return output.second == value; });
  }

  // A node may run twice when it only makes values: an in-place update (running statistics) would count double.
  bool may_repeat(const Node& node) const {
    return node.op->aliases(node.attributes, static_cast<std::int64_t>(node.inputs.size())).empty() &&
           block_of(node.name) != loss_block_ &&
           std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return is_output(output); });
  }

  // Given, or kept for the backward in any case, or made again.
  bool available(ValueId value) const {
    return !is_made_forward(value) || !kept(value) || saved(value) || is_output(value);
  }

  void decide(const Node& node) {
    if (!may_repeat(node)) return;
    if (what_ == Recompute::kFull) {
      decide_full(node);
    } else {
      decide_selective(node);
    }
  }

  void decide_selective(const Node& node) {
    if (keeps_pre(node) && saved(node.outputs[1])) return drop_if_saved(node.outputs[0]);
    if (is_residual_norm(node) && saved(node.outputs.back())) return drop_if_saved(node.outputs[0]);
    if (graph_.cost(node).flops.value > 0) return;
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return available(input); })) return;
    // Small outputs (means, deviations) are not worth a second run of their own.
    Bytes largest;
    for (const ValueId output : node.outputs) largest = std::max(largest, graph_.value(output).type.bytes());
    for (const ValueId output : node.outputs) {
      if (graph_.value(output).type.bytes().value * 4 >= largest.value) drop_if_saved(output);
    }
  }

  void drop_if_saved(ValueId value) {
    if (saved(value)) drop(value);
  }

  // What the fusion of an addition with the norm after it makes belongs to the norm's block; the sum is what crosses.
  bool sums_across(const Node& node) const {
    return is_residual_norm(node) && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
             return is_made_forward(input) && block_of(producer_of(input).name) != block_of(node.name);
           });
  }

  void decide_full(const Node& node) {
    const bool across = sums_across(node);
    for (Index index = 0; index < node.outputs.size(); ++index) {
      const ValueId output = node.outputs[index];
      if (across && index != 0) continue;
      if (!crosses(output)) drop(output);
    }
  }

  bool crosses(ValueId value) const {
    const std::string block = block_of(producer_of(value).name);
    const std::vector<NodeId>& readers = readers_[static_cast<Index>(value)];
    return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      const Node& node = graph_.node(reader);
      return node.phase == Phase::kForward && block_of(node.name) != block && !sums_across(node);
    });
  }

  // The value that a backward node reads in place of `value`.
  ValueId again(ValueId value, Phase phase) {
    if (!is_made_forward(value) || kept(value)) return value;
    if (const auto found = again_.find(value); found != again_.end()) return found->second;
    repeat(producer_of(value), value, phase);
    return again_.at(value);
  }

  ValueId copy_of(ValueId value) {
    const ValueId copy = graph_.new_value(graph_.value(value).name, graph_.value(value).type);
    again_[value] = copy;
    return copy;
  }

  void repeat(const Node& original, ValueId wanted, Phase phase) {
    Node node = original;
    node.phase = phase;
    node.name += ".recompute";
    node.recomputed = true;
    if (keeps_pre(original) && wanted == original.outputs[0] && kept(original.outputs[1])) {
      node.op = &activation_op();
      node.attributes = ActivationAttributes{LinearAttributes::from(original.attributes).activation}.to_attributes();
      node.inputs = {original.outputs[1]};
      node.outputs = {copy_of(wanted)};
    } else if (is_residual_norm(original) && wanted == original.outputs[0] && kept(original.outputs.back())) {
      node.attributes = without_residual(original);
      node.inputs.pop_back();
      node.inputs[0] = original.outputs.back();
      node.outputs = {copy_of(wanted)};
      for (Index small = 1; small + 1 < original.outputs.size(); ++small) {
        const Value& value = graph_.value(original.outputs[small]);
        node.outputs.push_back(graph_.new_value(value.name, value.type));
      }
    } else {
      for (ValueId& input : node.inputs) input = again(input, phase);
      for (ValueId& output : node.outputs) output = copy_of(output);
    }
    result_.push_back(std::move(node));
    ++added_;
  }

  void emit(Node node) {
    if (node.phase != Phase::kForward) {
      for (ValueId& input : node.inputs) input = again(input, node.phase);
    }
    result_.push_back(std::move(node));
  }

  Graph& graph_;
  Recompute what_;
  std::string loss_block_;
  std::vector<bool> saved_;  // read by the backward or the update
  std::vector<bool> kept_;   // not made again
  std::vector<std::vector<NodeId>> readers_;
  std::map<ValueId, ValueId> again_;
  std::vector<Node> result_;
  std::int64_t added_ = 0;
};

}  // namespace

std::int64_t recompute(Graph& graph, Recompute what) {
  return what == Recompute::kNone ? 0 : Recomputation(graph, what).run();
}

}  // namespace headway::graph
