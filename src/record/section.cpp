#include "record/section.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "record/run_schema.h"

namespace headway::record {

Section::Section(const Node* node, const Place& parent, std::string path)
    : node_(node), place_(node ? node->place : parent), path_(std::move(path)) {
  if (node_ == nullptr) return;
  if (node_->kind == Node::Kind::kNull) {
    node_ = nullptr;
    return;
  }
  const std::vector<std::string>& known = keys_of(path_);
  if (node_->kind != Node::Kind::kMap) {
    throw input_error(
        place_, path_,
        fmt::format("{} stands where a section is needed, such as {{{}: ...}}", describe(*node_), known.front()));
  }
  for (const Node& each : node_->children) {
    if (std::find(known.begin(), known.end(), each.key) != known.end()) continue;
    const std::string home = path_.empty() ? home_of(each.key) : "";
    if (home.empty()) throw unknown_key(each.place, path_, each.key, known);
    throw input_error(each.place, "", fmt::format("unknown key '{}'; did you mean '{}'?", each.key, home));
  }
}

bool Section::has(const std::string& key) const {
  const Node* node = child(key);
  return node != nullptr && node->kind != Node::Kind::kNull;
}

Setting Section::scalar(const Node& node, std::string_view wanted) const {
  const std::string path = path_of(node.key);
  if (node.kind != Node::Kind::kScalar) {
    throw input_error(node.place, path, fmt::format("is {}; {} is needed", describe(node), wanted));
  }
  return {node.text, path, node.place};
}

std::optional<Setting> Section::setting(const std::string& key) const {
  const Node* node = child(key);
  return node ? std::optional(scalar(*node, "a value")) : std::nullopt;
}

void Section::whole(const std::string& key, std::int64_t& field, WholeRange range) const {
  if (const Node* node = child(key)) field = to_whole(scalar(*node, "a whole number"), range);
}

void Section::whole(const std::string& key, std::optional<std::int64_t>& field, WholeRange range) const {
  if (has(key)) field = to_whole(scalar(*child(key), "a whole number"), range);
}

void Section::number(const std::string& key, double& field, NumberRange range) const {
  if (const Node* node = child(key)) field = to_number(scalar(*node, "a number"), range);
}

void Section::number(const std::string& key, std::optional<double>& field, NumberRange range) const {
  if (has(key)) field = to_number(scalar(*child(key), "a number"), range);
}

void Section::pair(const std::string& key, std::array<double, 2>& field, NumberRange range) const {
  const Node* node = child(key);
  if (node == nullptr) return;
  if (node->kind != Node::Kind::kList || node->children.size() != 2) {
    throw error(key, "a list of two numbers is needed, such as [0.9, 0.95]");
  }
  for (std::size_t at = 0; at < 2; ++at) {
    const Node& item = node->children[at];
    const std::string path = fmt::format("{}[{}]", path_of(key), at);
    if (item.kind != Node::Kind::kScalar) {
      throw input_error(node->place, path, fmt::format("is {}; a number is needed", describe(item)));
    }
    field[at] = to_number({item.text, path, node->place}, range);
  }
}

void Section::flag(const std::string& key, bool& field) const {
  if (const Node* node = child(key)) field = to_flag(scalar(*node, "true or false"));
}

void Section::text(const std::string& key, std::string& field) const {
  const Node* node = child(key);
  if (node == nullptr) return;
  field = scalar(*node, "a word").text;
  if (field.empty()) throw error(key, "is empty; a word is needed");
}

void Section::text(const std::string& key, std::optional<std::string>& field) const {
  if (!has(key)) return;
  std::string value;
  text(key, value);
  field = value;
}

UserError Section::error(const std::string& key, std::string_view what) const {
  const Node* node = child(key);
  return input_error(node ? node->place : place_, path_of(key), what);
}

void Section::require(const std::string& key, std::string_view example) const {
  if (!has(key)) throw error(key, fmt::format("is missing; it has no default (example: {})", example));
}

}  // namespace headway::record
