// The contract that parallel strategies rely on: a node split as its rule says gives what the whole node gives.
//
// A factor that can be split is cut in two shards. An input that carries it is sliced, one that does not is given
// whole. An output that carries it is the concatenation of the shards. For one that does not, see is_partial_sum().
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "backend/reference/reference.h"
#include "graph/ops/all.h"
#include "graph/ops/dropout.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/softmax.h"
#include "tests/ops/op_case.h"

namespace headway::ops_test {
namespace {

using Factors = std::vector<int>;

std::int64_t axis_of(const Factors& factors, int factor) {
  const auto found = std::find(factors.begin(), factors.end(), factor);
  return found == factors.end() ? -1 : found - factors.begin();
}

Shape resized(const Shape& shape, std::int64_t axis, std::int64_t extent) {
  std::vector<std::int64_t> dims = shape.dims();
  dims[static_cast<std::size_t>(axis)] = extent;
  return Shape(dims);
}

// Copies the part of `whole` that begins at `start` on an axis to or from `part`.
void copy_part(const Shape& shape, std::int64_t axis, std::int64_t start, Tensor& whole, const Shape& part_shape,
               Tensor& part, bool to_part) {
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t i = 0; i < axis; ++i) outer *= shape[i];
  for (std::int64_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < part_shape[axis] * inner; ++i) {
      double& in_whole = whole[static_cast<std::size_t>((o * shape[axis] + start) * inner + i)];
      double& in_part = part[static_cast<std::size_t>(o * part_shape[axis] * inner + i)];
      (to_part ? in_part : in_whole) = to_part ? in_whole : in_part;
    }
  }
}

// Attributes that hold a shape, made local.
graph::Attributes local_attributes(const OpCase& test, const Shape& output) {
  graph::Attributes attributes = test.attributes;
  for (const auto& [name, value] : test.attributes.entries()) {
    if (name == "shape") attributes.set(name, output.dims());
    if (name == "rows") attributes.set(name, output[0]);
  }
  return attributes;
}

testing::AssertionResult rule_is_well_formed(const OpCase& test, const graph::ShardingRule& rule) {
  std::map<int, std::int64_t> extents;
  const auto check = [&](const std::vector<graph::TensorType>& types, const std::vector<Factors>& operands) {
    if (types.size() != operands.size()) return false;
    for (std::size_t index = 0; index < types.size(); ++index) {
      const Shape& shape = types[index].shape;
      if (static_cast<std::int64_t>(operands[index].size()) != shape.rank()) return false;
      for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
        const auto [at, fresh] = extents.emplace(operands[index][static_cast<std::size_t>(axis)], shape[axis]);
        if (at->second != shape[axis]) return false;
      }
      if (std::set<int>(operands[index].begin(), operands[index].end()).size() != operands[index].size()) return false;
    }
    return true;
  };
  if (!check(test.input_types, rule.inputs)) return testing::AssertionFailure() << test.label << ": inputs of the rule";
  if (!check(test.output_types, rule.outputs)) {
    return testing::AssertionFailure() << test.label << ": outputs of the rule";
  }
  for (const int factor : rule.whole) {
    if (!extents.contains(factor)) return testing::AssertionFailure() << test.label << ": whole names no factor";
  }
  return testing::AssertionSuccess();
}

// The factors of a rule that may be split and are long enough for two shards.
std::map<int, std::int64_t> splittable(const OpCase& test, const graph::ShardingRule& rule) {
  std::map<int, std::int64_t> extents;
  for (std::size_t index = 0; index < rule.inputs.size(); ++index) {
    for (std::size_t axis = 0; axis < rule.inputs[index].size(); ++axis) {
      const int factor = rule.inputs[index][axis];
      const std::int64_t extent = test.input_types[index].shape.dims()[axis];
      const bool whole = std::count(rule.whole.begin(), rule.whole.end(), factor) > 0;
      if (!whole && extent >= 2) extents[factor] = extent;
    }
  }
  return extents;
}

std::vector<Tensor> run_shard(const OpCase& test, const graph::ShardingRule& rule, int factor, std::int64_t start,
                              std::int64_t extent, std::vector<graph::TensorType>& output_types) {
  std::vector<graph::TensorType> input_types = test.input_types;
  std::vector<Tensor> inputs = test.inputs;
  for (std::size_t index = 0; index < inputs.size(); ++index) {
    const std::int64_t axis = axis_of(rule.inputs[index], factor);
    if (axis < 0) continue;
    input_types[index].shape = resized(test.input_types[index].shape, axis, extent);
    Tensor whole = test.inputs[index];
    inputs[index].assign(static_cast<std::size_t>(input_types[index].shape.elements()), 0);
    copy_part(test.input_types[index].shape, axis, start, whole, input_types[index].shape, inputs[index], true);
  }
  // The batch of a dropout goes on where the shards before it end.
  if (test.op == &graph::dropout_op()) inputs[1][graph::kFirstSample] += static_cast<double>(start);

  output_types = test.output_types;
  for (std::size_t index = 0; index < output_types.size(); ++index) {
    const std::int64_t axis = axis_of(rule.outputs[index], factor);
    if (axis >= 0) output_types[index].shape = resized(output_types[index].shape, axis, extent);
  }
  const graph::Attributes attributes = local_attributes(test, output_types[0].shape);
  EXPECT_EQ(test.op->infer(attributes, input_types), output_types) << test.label << " factor " << factor;
  return backend::reference::run_op(*test.op, attributes, input_types, output_types, inputs);
}

// Whether an output without the factor is a partial sum on each shard: when an input with the factor has an axis in
// common with it, or it is a scalar, which depends on everything. Otherwise it does not depend on what was split, and
// every shard computes all of it: the bias gradient of a convolution whose input channels are split, the second
// parameter of an update whose first is split.
bool is_partial_sum(const graph::ShardingRule& rule, std::size_t output, int factor) {
  const Factors& mine = rule.outputs[output];
  return std::any_of(rule.inputs.begin(), rule.inputs.end(), [&](const Factors& input) {
    if (axis_of(input, factor) < 0) return false;
    return mine.empty() || std::any_of(mine.begin(), mine.end(), [&](int axis) { return axis_of(input, axis) >= 0; });
  });
}

testing::AssertionResult shards_make_the_whole(const OpCase& test, const graph::ShardingRule& rule, int factor,
                                               std::int64_t extent) {
  std::vector<Tensor> combined;
  for (const Tensor& expected : test.expected) combined.emplace_back(expected.size(), 0.0);
  const std::int64_t first = extent / 2;
  for (const auto& [start, size] : {std::pair{std::int64_t{0}, first}, std::pair{first, extent - first}}) {
    std::vector<graph::TensorType> types;
    std::vector<Tensor> parts = run_shard(test, rule, factor, start, size, types);
    for (std::size_t index = 0; index < parts.size(); ++index) {
      const std::int64_t axis = axis_of(rule.outputs[index], factor);
      if (axis >= 0) {
        copy_part(test.output_types[index].shape, axis, start, combined[index], types[index].shape, parts[index],
                  false);
      } else if (is_partial_sum(rule, index, factor)) {
        for (std::size_t i = 0; i < parts[index].size(); ++i) combined[index][i] += parts[index][i];
      } else if (start == 0 || parts[index] == combined[index]) {
        combined[index] = parts[index];
      } else {
        return testing::AssertionFailure()
               << fmt::format("{}: factor {}: output {} differs between shards", test.label, factor, index);
      }
    }
  }
  for (std::size_t index = 0; index < combined.size(); ++index) {
    double largest = 0;
    for (const double element : test.expected[index]) {
      if (!std::isnan(element)) largest = std::max(largest, std::fabs(element));
    }
    for (std::size_t i = 0; i < combined[index].size(); ++i) {
      const double expected = test.expected[index][i], found = combined[index][i];
      if (std::isnan(expected) && std::isnan(found)) continue;
      if (std::fabs(found - expected) <= 1e-12 * largest + 1e-15) continue;
      return testing::AssertionFailure() << fmt::format(
                 "{}: factor {} in two shards: output {} [{}] is {}, whole it is {}", test.label, factor, index, i,
                 found, expected);
    }
  }
  return testing::AssertionSuccess();
}

// Ops whose rules split nothing, on purpose: means, a norm over everything, a constant.
const std::set<std::string_view> kReplicated = {"cross_entropy",   "cross_entropy_grad",   "mse",       "mse_grad",
                                                "bce_with_logits", "bce_with_logits_grad", "grad_norm", "fill",
                                                "moe_route",       "moe_route_grad"};

TEST(Sharding, ASplitNodeGivesWhatTheWholeNodeGives) {
  for (const graph::Op* op : graph::all_ops()) {
    int splits = 0;
    for (const OpCase& test : small_cases_of(*op)) {
      const graph::ShardingRule rule = op->sharding(test.attributes, test.input_types);
      const auto formed = rule_is_well_formed(test, rule);
      EXPECT_TRUE(formed);
      if (!formed) continue;
      for (const auto& [factor, extent] : splittable(test, rule)) {
        EXPECT_TRUE(shards_make_the_whole(test, rule, factor, extent));
        ++splits;
      }
    }
    EXPECT_EQ(splits == 0, kReplicated.contains(op->name())) << op->name() << ": " << splits << " splits";
  }
}

// A case of an op, and its rule with every factor allowed.
std::pair<OpCase, graph::ShardingRule> unguarded(const graph::Op& op, std::size_t inputs) {
  for (OpCase& test : small_cases_of(op)) {
    const auto least = [](const graph::TensorType& type) {
      return type.shape.rank() > 1 && *std::min_element(type.shape.dims().begin(), type.shape.dims().end()) >= 3;
    };
    if (test.inputs.size() != inputs || !least(test.input_types[0])) continue;
    graph::ShardingRule rule = op.sharding(test.attributes, test.input_types);
    rule.whole.clear();
    return {std::move(test), rule};
  }
  throw std::runtime_error("no such case");
}

TEST(Sharding, ASplitThatARuleForbidsIsSeenToBeWrong) {
  for (const auto& [op, inputs] : {std::pair{&graph::layernorm_op(), 3}, std::pair{&graph::softmax_op(), 1}}) {
    const auto [test, rule] = unguarded(*op, static_cast<std::size_t>(inputs));
    const int last = rule.inputs[0].back();
    EXPECT_FALSE(shards_make_the_whole(test, rule, last, test.input_types[0].shape[-1])) << op->name();
  }
  // The bias of a linear would be added once a shard.
  const auto [test, rule] = unguarded(graph::linear_op(), 3);
  EXPECT_FALSE(shards_make_the_whole(test, rule, rule.inputs[0].back(), test.input_types[0].shape[-1]));
}

TEST(Sharding, ARuleWithAWrongAxisIsSeen) {
  auto [test, rule] = unguarded(graph::linear_op(), 2);
  ASSERT_TRUE(rule_is_well_formed(test, rule));
  graph::ShardingRule swapped = rule;
  std::swap(swapped.inputs[1][0], swapped.inputs[1][1]);
  EXPECT_FALSE(rule_is_well_formed(test, swapped));
  graph::ShardingRule lost = rule;
  lost.outputs.clear();
  EXPECT_FALSE(rule_is_well_formed(test, lost));
}

}  // namespace
}  // namespace headway::ops_test
