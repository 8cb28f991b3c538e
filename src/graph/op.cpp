#include "graph/op.h"

#include <fmt/core.h>

#include <numeric>

#include "base/error.h"

namespace headway::graph {

std::string to_string(const TensorType& type) {
  return fmt::format("{}{}", name_of(type.dtype), headway::to_string(type.shape));
}

std::vector<ValueId> Op::gradient(GradientContext&) const {
  throw InternalError(fmt::format("{}: has no gradient", name()));
}

std::vector<Alias> Op::aliases(const Attributes&, std::int64_t) const {
  return {};
}

OpCost memory_cost(Types inputs, Types outputs) {
  OpCost cost;
  for (const TensorType& type : inputs) cost.read += type.bytes();
  for (const TensorType& type : outputs) cost.written += type.bytes();
  return cost;
}

ShardingRule pointwise_rule(Types inputs, std::int64_t outputs) {
  std::vector<int> factors(static_cast<std::size_t>(inputs[0].shape.rank()));
  std::iota(factors.begin(), factors.end(), 0);
  return {std::vector(inputs.size(), factors), std::vector(static_cast<std::size_t>(outputs), factors), {}};
}

ShardingRule replicated_rule(Types inputs, Types outputs) {
  ShardingRule rule;
  int next = 0;
  const auto label = [&](Types types, std::vector<std::vector<int>>& operands) {
    for (const TensorType& type : types) {
      std::vector<int>& axes = operands.emplace_back();
      for (std::int64_t axis = 0; axis < type.shape.rank(); ++axis) {
        axes.push_back(next);
        rule.whole.push_back(next++);
      }
    }
  };
  label(inputs, rule.inputs);
  label(outputs, rule.outputs);
  return rule;
}

void fail_shapes(std::string_view op, const std::string& why, Types inputs) {
  std::string operands;
  for (const TensorType& type : inputs) {
    if (!operands.empty()) operands += " x ";
    operands += to_string(type);
  }
  throw UserError(fmt::format("{}: {}: {}", op, why, operands));
}

void require_inputs(std::string_view op, Types inputs, std::size_t least, std::size_t most) {
  if (inputs.size() >= least && inputs.size() <= most) return;
  fail_shapes(op, fmt::format("takes {} to {} operands, got {}", least, most, inputs.size()), inputs);
}

void require_dtype(std::string_view op, Types inputs, std::size_t index, DType dtype) {
  if (inputs[index].dtype == dtype) return;
  fail_shapes(op, fmt::format("operand {} must be {}", index, name_of(dtype)), inputs);
}

void require_rank(std::string_view op, Types inputs, std::size_t index, std::int64_t least, std::int64_t most) {
  const std::int64_t rank = inputs[index].shape.rank();
  if (rank >= least && rank <= most) return;
  const std::string wanted = least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  fail_shapes(op, fmt::format("operand {} must have {} axes", index, wanted), inputs);
}

}  // namespace headway::graph
