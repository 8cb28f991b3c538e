// Graph: one training step of one micro-batch (forward, backward, update) over global tensors.
//
// Values are in single-assignment form; an in-place update makes a new value that shares the old one's bytes
// (Op::aliases). Nodes stand in an order in which they can run.
#pragma once

#include <string>
#include <vector>

#include "graph/attributes.h"
#include "graph/op.h"

namespace headway::graph {

using NodeId = std::int32_t;
inline constexpr NodeId kNoNode = -1;

enum class Phase : std::uint8_t { kForward, kBackward, kUpdate };
std::string_view name_of(Phase phase);

enum class Role : std::uint8_t {
  kActivation,  // made by a node, lives within the step
  kInput,       // written by the caller before every micro-batch: samples, labels, hyper-parameters, position
  kParameter,   // trained, or a statistic of the model; lives for the whole run
  kState,       // optimizer moments, gradient accumulators; lives for the whole run
};
std::string_view name_of(Role role);

struct Value {
  std::string name;
  TensorType type;
  Role role = Role::kActivation;
  NodeId producer = kNoNode;
};

struct Node {
  const Op* op = nullptr;
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Phase phase = Phase::kForward;
  std::string name;         // where it comes from: "layers.0.attn.qkv", ".grad" appended for its gradient's nodes
  bool recomputed = false;  // made by recomputation: its flops count for HFU and not for MFU
};

// How a parameter is initialised; `fill` for constants.
struct Initializer {
  enum class Kind : std::uint8_t { kFill, kNormal, kUniform } kind = Kind::kFill;
  double scale = 0;  // the constant, the standard deviation, or the bound of a symmetric uniform
};

struct Parameter {
  ValueId value = kNoValue;
  Initializer initializer;
  bool decays = true;  // weight decay applies: matrices yes, biases and norms as the model says
  // False for what an op of the forward phase updates in place (running statistics): saved, loaded and shared with an
  // evaluation like the others, but no gradient reaches it, and nobody counts it.
  bool trained = true;
};

class Graph {
 public:
  // Adds a value that no node makes.
  ValueId add_input(std::string name, TensorType type);
  ValueId add_parameter(std::string name, Shape shape, Initializer initializer, bool decays = true);
  ValueId add_statistic(std::string name, Shape shape, double initial);  // a parameter that is not trained
  ValueId add_state(std::string name, TensorType type);

  // Adds a node at the end in the current phase and returns its outputs. Types are inferred; UserError when impossible.
  std::vector<ValueId> add(const Op& op, Attributes attributes, std::vector<ValueId> inputs);
  // The same for an op with one output (or whose first output is wanted).
  ValueId add_one(const Op& op, Attributes attributes, std::vector<ValueId> inputs);

  // Names and phase of the nodes added from now on.
  void set_scope(std::string name) { scope_ = std::move(name); }
  void set_phase(Phase phase) { phase_ = phase; }
  const std::string& scope() const { return scope_; }

  // Values that the caller reads after a micro-batch: "loss", metrics. They live to the end of the step.
  void add_output(std::string name, ValueId value);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<std::pair<std::string, ValueId>>& outputs() const { return outputs_; }
  const Value& value(ValueId id) const { return values_.at(static_cast<std::size_t>(id)); }
  const Node& node(NodeId id) const { return nodes_.at(static_cast<std::size_t>(id)); }

  // The value of a name among inputs, parameters, states and outputs; kNoValue when there is none.
  ValueId find(std::string_view name) const;

  std::vector<TensorType> input_types(const Node& node) const;
  std::vector<TensorType> output_types(const Node& node) const;
  OpCost cost(const Node& node) const;

  // For passes: replaces the nodes (values keep their ids; producers are recomputed; the order is made valid by a
  // stable topological sort in which an in-place update comes after every other reader of what it overwrites).
  void set_nodes(std::vector<Node> nodes);
  // For passes: a new activation value, to be made by a node of a later set_nodes().
  ValueId new_value(std::string name, TensorType type);
  // For passes: every output entry that named `from` names `to`.
  void replace_output(ValueId from, ValueId to);

 private:
  ValueId add_value(std::string name, TensorType type, Role role);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Parameter> parameters_;
  std::vector<std::pair<std::string, ValueId>> outputs_;
  std::string scope_;
  Phase phase_ = Phase::kForward;
};

// For each value the nodes that read it, in order.
std::vector<std::vector<NodeId>> readers_of(const Graph& graph);

// One line a node: "%7 f32[8, 4] = linear(%1, %2, %3) {activation=none}  # forward layers.0.linear".
std::string to_string(const Graph& graph);

// Total of the multiply-add flops of all nodes (design: the numerator of MFU).
Flops total_flops(const Graph& graph);

// Throws InternalError naming node and value: an input read before it is made, a value made twice, types that
// differ from what the op infers, an in-place update before another read of the old value, an output nobody makes.
void verify(const Graph& graph);

}  // namespace headway::graph
