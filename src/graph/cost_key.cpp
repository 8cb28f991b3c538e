#include "graph/cost_key.h"

namespace headway::graph {

std::string cost_key(const Op& op, const Attributes& attributes) {
  std::string key(op.name());
  for (const auto& [name, value] : attributes.entries()) {
    const auto* word = std::get_if<std::string>(&value);
    if (word != nullptr && *word != "none") key += "." + *word;
  }
  for (const auto& [name, value] : attributes.entries()) {
    const auto* flag = std::get_if<bool>(&value);
    if (flag != nullptr && *flag) key += "." + name;
  }
  return key;
}

std::string cost_key(const Node& node) {
  return cost_key(*node.op, node.attributes);
}

}  // namespace headway::graph
