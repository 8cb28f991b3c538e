#include "record/yaml_tree.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <utility>

#include "record/utf8.h"

namespace headway::record {
namespace {

// No run file is deeper than 4 or has more keys in a section than a model has options; the limits bound the time that
// hostile text can cost (finding keys given twice is quadratic in the keys of one section).
constexpr std::size_t kDeepest = 16;
constexpr std::size_t kMostKeys = 1000;

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const Place& origin) : origin_(origin) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true)) fail(mark, "a second document begins here; a file holds one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (expects_key()) fail(mark, "a key has no name");
    add(node_at(mark, Node::Kind::kNull));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "aliases (*name) are not supported here; write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    refuse_tag(mark, tag);
    if (expects_key()) return set_key(mark, value);
    Node node = node_at(mark, Node::Kind::kScalar);
    node.text = value;
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, Node::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, tag, Node::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Key {
    std::string name;
    Place place;
  };
  struct Level {
    Node node;
    std::optional<Key> key;  // read, its value not yet
  };

  Place place_of(const YAML::Mark& mark) const {
    return {origin_.file, origin_.line > 0 ? origin_.line + mark.line : 0};
  }

  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view what) const {
    throw input_error(place_of(mark), "", what);
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    // yaml-cpp says "?" for a plain and "!" for a quoted scalar without a tag.
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, "tags (!name) are not supported here");
  }

  bool expects_key() const {
    return !levels_.empty() && levels_.back().node.kind == Node::Kind::kMap && !levels_.back().key;
  }

  void set_key(const YAML::Mark& mark, const std::string& name) {
    Level& level = levels_.back();
    if (const Node* before = level.node.find(name)) {
      const std::string line = before->place.line > 0 ? fmt::format(" (first on line {})", before->place.line) : "";
      fail(mark, fmt::format("key '{}' is given twice{}", shown(name), line));
    }
    if (level.node.children.size() >= kMostKeys) fail(mark, fmt::format("more than {} keys in a section", kMostKeys));
    level.key = Key{name, place_of(mark)};
  }

  // A node at this mark, or under the key that waits for its value: a message about a value names the line of its key.
  Node node_at(const YAML::Mark& mark, Node::Kind kind) {
    Node node;
    node.kind = kind;
    node.place = place_of(mark);
    if (!levels_.empty() && levels_.back().key) {
      node.key = std::move(levels_.back().key->name);
      node.place = std::move(levels_.back().key->place);
      levels_.back().key.reset();
    }
    return node;
  }

  void open(const YAML::Mark& mark, const std::string& tag, Node::Kind kind) {
    refuse_tag(mark, tag);
    if (expects_key()) fail(mark, "a key must be a word, not a list or a section; is a bracket left open?");
    if (levels_.size() >= kDeepest) fail(mark, fmt::format("nested deeper than {} levels", kDeepest));
    levels_.push_back({node_at(mark, kind), std::nullopt});
  }

  void close() {
    Node node = std::move(levels_.back().node);
    levels_.pop_back();
    add(std::move(node));
  }

  void add(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
    } else {
      levels_.back().node.children.push_back(std::move(node));
    }
  }

  const Place& origin_;
  bool started_ = false;
  std::vector<Level> levels_;
  Node root_;
};

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (const Node& child : children) {
    if (child.key == name) return &child;
  }
  return nullptr;
}

Node* Node::find(std::string_view name) {
  return const_cast<Node*>(std::as_const(*this).find(name));
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "empty";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a section";
    case Node::Kind::kScalar:
      break;
  }
  return fmt::format("'{}'", shown(node.text));
}

Node parse_yaml(std::string_view text, const Place& origin) {
  if (const std::optional<TextFault> fault = find_text_fault(text)) {
    throw input_error({origin.file, origin.line > 0 ? origin.line + fault->line : 0}, "", fault->what);
  }
  TreeBuilder builder(origin);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const int line = origin.line > 0 && !error.mark.is_null() ? origin.line + error.mark.line : 0;
    throw input_error({origin.file, line}, "", fmt::format("not valid YAML: {}", error.msg));
  }
  return builder.take();
}

}  // namespace headway::record
