// YAML text as a plain tree of our own, built from parser events: every node knows its line, a key given twice is an
// error, and what could blow up (aliases, deep nesting) is refused before it is built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/place.h"

namespace headway::record {

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Place place;                 // of the key when the node is the value of one
  std::string key;             // set when the parent is a map
  std::string text;            // of a scalar, quotes removed
  std::vector<Node> children;  // of a list or map, in the order of the text

  // The value of a key of this map, or nullptr.
  const Node* find(std::string_view name) const;
  Node* find(std::string_view name);
};

// "a section", "a list", "'text'" - what a node is, for messages.
std::string describe(const Node& node);

// Parses one document. `origin` names the file and its first line, or a command-line option (line 0, then kept for
// all nodes). Empty text gives a null node. UserError for text that is not UTF-8, for YAML errors, keys given twice,
// keys that are not words, aliases, tags, a second document, and more than 16 levels.
Node parse_yaml(std::string_view text, const Place& origin);

}  // namespace headway::record
