#include "record/run_override.h"

#include <fmt/core.h>

#include <array>
#include <utility>
#include <vector>

namespace headway::record {
namespace {

constexpr std::string_view kOption = "--set ";

// Keys that exclude each other: whoever sets one on the command line no longer wants the file's other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kExclusive = {
    std::pair{"train.steps", "train.epochs"}, std::pair{"train.target.below", "train.target.above"}};

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

void remove_from_file(Node& section, std::string_view path) {
  std::erase_if(section.children, [&](const Node& child) {
    return child.key == last_part(path) && !child.place.file.starts_with(kOption);
  });
}

std::vector<std::string> split(std::string_view path, const Place& place) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (end == begin) throw input_error(place, "", "a key is empty; write --set section.key=value");
    parts.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Node& descend(Node& section, const std::string& key, const std::string& path, const Place& place) {
  if (section.kind == Node::Kind::kNull) section.kind = Node::Kind::kMap;
  if (section.kind != Node::Kind::kMap) {
    throw input_error(place, path, fmt::format("is {} and has no key '{}'", describe(section), shown(key)));
  }
  if (Node* child = section.find(key)) return *child;
  Node& made = section.children.emplace_back();
  made.key = key;
  made.place = place;
  return made;
}

}  // namespace

void apply_override(Node& root, const std::string& text) {
  const Place place{std::string(kOption) + shown(text), 0};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw input_error(place, "", "needs a value: --set section.key=value");
  const std::string path = text.substr(0, equals);
  Node value = parse_yaml(std::string_view(text).substr(equals + 1), place);

  Node* section = nullptr;
  Node* at = &root;
  std::string walked;
  for (const std::string& part : split(path, place)) {
    section = at;
    at = &descend(*at, part, walked, place);
    walked += (walked.empty() ? "" : ".") + part;
  }
  value.key = at->key;
  value.place = place;
  const bool given = value.kind != Node::Kind::kNull;
  *at = std::move(value);
  for (const auto& [left, right] : kExclusive) {
    if (given && path == left) remove_from_file(*section, right);
    if (given && path == right) remove_from_file(*section, left);
  }
}

}  // namespace headway::record
