#include "graph/ops/recurrent.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "graph/autodiff.h"

namespace headway::graph {

std::string_view name_of(Cell cell) {
  static constexpr std::array<std::string_view, 2> kNames = {"lstm", "gru"};
  return kNames[static_cast<std::size_t>(cell)];
}

Cell cell_from_name(const std::string& name) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    if (name == name_of(cell)) return cell;
  }
  throw InternalError("no recurrent cell is named " + name);
}

std::int64_t gates_of(Cell cell) {
  return cell == Cell::kLstm ? 4 : 3;
}

RecurrentAttributes RecurrentAttributes::from(const Attributes& attributes) {
  return {cell_from_name(attributes.text("cell")), attributes.flag("last")};
}

Attributes RecurrentAttributes::to_attributes() const {
  return {{"cell", std::string(name_of(cell))}, {"last", last}};
}

RecurrentGradAttributes RecurrentGradAttributes::from(const Attributes& attributes) {
  return {cell_from_name(attributes.text("cell")), attributes.flag("last"), attributes.flag("input_gradient")};
}

Attributes RecurrentGradAttributes::to_attributes() const {
  return {{"cell", std::string(name_of(cell))}, {"last", last}, {"input_gradient", input_gradient}};
}

RecurrentSizes recurrent_sizes(const Shape& x, const Shape& w_hh) {
  return {x[0], x[1], x[2], w_hh[1]};
}

namespace {

// x is operand `first`, w_ih and w_hh follow.
RecurrentSizes check_sizes(std::string_view op, Types inputs, std::size_t first, std::int64_t gates) {
  require_rank(op, inputs, first, 3, 3);
  require_rank(op, inputs, first + 1, 2, 2);
  require_rank(op, inputs, first + 2, 2, 2);
  const Shape& w_ih = inputs[first + 1].shape;
  const Shape& w_hh = inputs[first + 2].shape;
  const RecurrentSizes sizes = recurrent_sizes(inputs[first].shape, w_hh);
  if (sizes.steps < 1) fail_shapes(op, "x must have at least one step", inputs);
  if (w_hh != Shape{gates * sizes.hidden, sizes.hidden}) {
    fail_shapes(op, "the hidden weights must be [" + std::to_string(gates) + " h, h]", inputs);
  }
  if (w_ih != Shape{gates * sizes.hidden, sizes.features}) {
    fail_shapes(op, "the input weights must be [" + std::to_string(gates) + " h, last axis of x]", inputs);
  }
  return sizes;
}

Shape shape_of_y(const RecurrentSizes& sizes, bool last) {
  return last ? Shape{sizes.batch, sizes.hidden} : Shape{sizes.batch, sizes.steps, sizes.hidden};
}

// What the forward pass saves: activations, states, and of a GRU the n block of v.
std::vector<TensorType> saved_types(const RecurrentSizes& sizes, Cell cell) {
  const TensorType states{DType::kF32, Shape{sizes.steps, sizes.batch, sizes.hidden}};
  std::vector<TensorType> types = {{DType::kF32, Shape{sizes.steps, sizes.batch, gates_of(cell) * sizes.hidden}},
                                   states};
  if (cell == Cell::kGru) types.push_back(states);
  return types;
}

std::size_t saved_count(Cell cell) {
  return cell == Cell::kGru ? 3 : 2;
}

// The products of one pass over the sequence, u of all steps at once and v step by step.
OpCost recurrent_cost(Types inputs, Types outputs, const RecurrentSizes& sizes, std::int64_t gates) {
  OpCost cost = memory_cost(inputs, outputs);
  const std::int64_t columns = gates * sizes.hidden;
  cost.products = {{sizes.batch * sizes.steps, columns, sizes.features, 1},
                   {sizes.batch, columns, sizes.hidden, sizes.steps}};
  return cost;
}

void count_flops(OpCost& cost) {
  for (const OpCost::Product& product : cost.products) {
    cost.flops += Flops(2.0 * static_cast<double>(product.m * product.n * product.k * product.count));
  }
}

// Factors: only the batch may be split, steps depend on each other and every unit on all units.
enum Factor : int { kBatch, kSteps, kFeatures, kHidden, kGates };

ShardingRule rule_of(std::vector<std::vector<int>> inputs, std::vector<std::vector<int>> outputs) {
  return {std::move(inputs), std::move(outputs), {kSteps, kFeatures, kHidden, kGates}};
}

std::vector<int> factors_of_y(bool last) {
  return last ? std::vector<int>{kBatch, kHidden} : std::vector<int>{kBatch, kSteps, kHidden};
}

void add_saved(std::vector<std::vector<int>>& operands, Cell cell) {
  operands.push_back({kSteps, kBatch, kGates});
  for (std::size_t states = 1; states < saved_count(cell); ++states) operands.push_back({kSteps, kBatch, kHidden});
}

class Recurrent final : public Op {
 public:
  std::string_view name() const override { return "recurrent"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const RecurrentAttributes attributes = RecurrentAttributes::from(raw);
    require_inputs(name(), inputs, 5, 5);
    const RecurrentSizes sizes = check_sizes(name(), inputs, 0, gates_of(attributes.cell));
    const Shape bias{gates_of(attributes.cell) * sizes.hidden};
    if (inputs[3].shape != bias || inputs[4].shape != bias) {
      fail_shapes(name(), "both biases must have an element for each row of the weights", inputs);
    }
    std::vector<TensorType> types = saved_types(sizes, attributes.cell);
    types.insert(types.begin(), {inputs[0].dtype, shape_of_y(sizes, attributes.last)});
    return types;
  }

  OpCost cost(const Attributes& raw, Types inputs, Types outputs) const override {
    OpCost cost = recurrent_cost(inputs, outputs, recurrent_sizes(inputs[0].shape, inputs[2].shape),
                                 gates_of(RecurrentAttributes::from(raw).cell));
    count_flops(cost);
    return cost;
  }

  ShardingRule sharding(const Attributes& raw, Types) const override {
    const RecurrentAttributes attributes = RecurrentAttributes::from(raw);
    ShardingRule rule =
        rule_of({{kBatch, kSteps, kFeatures}, {kGates, kFeatures}, {kGates, kHidden}, {kGates}, {kGates}},
                {factors_of_y(attributes.last)});
    add_saved(rule.outputs, attributes.cell);
    return rule;
  }

  std::vector<ValueId> gradient(GradientContext& context) const override {
    HEADWAY_CHECK(context.output_gradient(0) != kNoValue, "only y of a recurrent layer is differentiated");
    const RecurrentAttributes attributes = RecurrentAttributes::from(context.attributes());
    std::vector<ValueId> inputs = {context.output_gradient(0), context.input(0), context.input(1), context.input(2)};
    for (std::size_t saved = 1; saved <= saved_count(attributes.cell); ++saved) inputs.push_back(context.output(saved));
    const std::vector<ValueId> results = context.graph().add(
        recurrent_grad_op(),
        RecurrentGradAttributes{attributes.cell, attributes.last, context.needs(0)}.to_attributes(), std::move(inputs));
    return {context.needs(0) ? results[4] : kNoValue, results[0], results[1], results[2], results[3]};
  }
};

class RecurrentGrad final : public Op {
 public:
  std::string_view name() const override { return "recurrent_grad"; }

  std::vector<TensorType> infer(const Attributes& raw, Types inputs) const override {
    const RecurrentGradAttributes attributes = RecurrentGradAttributes::from(raw);
    const std::size_t count = 4 + saved_count(attributes.cell);
    require_inputs(name(), inputs, count, count);
    const RecurrentSizes sizes = check_sizes(name(), inputs, 1, gates_of(attributes.cell));
    if (inputs[0].shape != shape_of_y(sizes, attributes.last)) fail_shapes(name(), "dy does not fit x", inputs);
    const std::vector<TensorType> saved = saved_types(sizes, attributes.cell);
    if (!std::equal(saved.begin(), saved.end(), inputs.begin() + 4)) {
      fail_shapes(name(), "what the forward pass saved does not fit x", inputs);
    }
    const TensorType bias{inputs[2].dtype, Shape{gates_of(attributes.cell) * sizes.hidden}};
    std::vector<TensorType> types = {inputs[2], inputs[3], bias, bias};
    if (attributes.input_gradient) types.push_back(inputs[1]);
    return types;
  }

  // The gradient of the weights pairs what the forward pass pairs, and so do those of x and of the hidden states.
  OpCost cost(const Attributes& raw, Types inputs, Types outputs) const override {
    const RecurrentGradAttributes attributes = RecurrentGradAttributes::from(raw);
    OpCost cost =
        recurrent_cost(inputs, outputs, recurrent_sizes(inputs[1].shape, inputs[3].shape), gates_of(attributes.cell));
    OpCost::Product &of_input = cost.products[0], &of_state = cost.products[1];
    of_input.count *= attributes.input_gradient ? 2 : 1;
    of_state.count *= 2;
    count_flops(cost);
    return cost;
  }

  ShardingRule sharding(const Attributes& raw, Types) const override {
    const RecurrentGradAttributes attributes = RecurrentGradAttributes::from(raw);
    const std::vector<int> x = {kBatch, kSteps, kFeatures};
    ShardingRule rule = rule_of({factors_of_y(attributes.last), x, {kGates, kFeatures}, {kGates, kHidden}},
                                {{kGates, kFeatures}, {kGates, kHidden}, {kGates}, {kGates}});
    add_saved(rule.inputs, attributes.cell);
    if (attributes.input_gradient) rule.outputs.push_back(x);
    return rule;
  }
};

}  // namespace

const Op& recurrent_op() {
  static const Recurrent op;
  return op;
}

const Op& recurrent_grad_op() {
  static const RecurrentGrad op;
  return op;
}

ValueId recurrent(Graph& graph, ValueId x, RecurrentWeights weights, RecurrentAttributes attributes) {
  return graph.add_one(recurrent_op(), attributes.to_attributes(),
                       {x, weights.w_ih, weights.w_hh, weights.b_ih, weights.b_hh});
}

}  // namespace headway::graph
