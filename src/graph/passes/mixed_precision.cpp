#include "graph/passes/mixed_precision.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/ops/cast.h"
#include "graph/ops/linear.h"

namespace headway::graph {
namespace {

// Below this size of any side a cast costs more than the product gains.
constexpr std::int64_t kLeast = 16;

bool is_worth_it(const Graph& graph, const Node& node) {
  if (node.op != &linear_op() && node.op != &matmul_op()) return false;
  if (graph.value(node.inputs[0]).type.dtype != DType::kF32) return false;
  const OpCost cost = graph.cost(node);
  return std::all_of(cost.products.begin(), cost.products.end(), [](const OpCost::Product& product) {
    return std::min({product.m, product.n, product.k}) >= kLeast;
  });
}

}  // namespace

std::int64_t mixed_precision(Graph& graph) {
  std::map<ValueId, ValueId> narrow;
  std::vector<Node> nodes;
  std::int64_t products = 0;
  for (Node node : std::vector<Node>(graph.nodes())) {
    if (is_worth_it(graph, node)) {
      ++products;
      for (std::size_t operand = 0; operand < 2; ++operand) {
        ValueId& input = node.inputs[operand];
        const auto [entry, is_new] = narrow.try_emplace(input, kNoValue);
        if (is_new) {
          const Value value = graph.value(input);
          entry->second = graph.new_value(value.name + ".bf16", {DType::kBF16, value.type.shape});
          Node cast;
          cast.op = &cast_op();
          cast.attributes = CastAttributes{DType::kBF16}.to_attributes();
          cast.inputs = {input};
          cast.outputs = {entry->second};
          cast.phase = node.phase;
          cast.name = node.name + ".cast";
          nodes.push_back(std::move(cast));
        }
        input = entry->second;
      }
    }
    nodes.push_back(std::move(node));
  }
  if (products > 0) graph.set_nodes(std::move(nodes));
  return products;
}

}  // namespace headway::graph
