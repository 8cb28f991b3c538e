// One section of a run file, read key by key into typed fields.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "record/run_enums.h"
#include "record/scalar.h"
#include "record/yaml_tree.h"

namespace headway::record {

// Absent keys leave the field as it is: its initial value is the default. All errors are UserErrors.
class Section {
 public:
  // `node` may be null (the section is absent). Refuses what is not a section, and keys that the schema does not know
  // for `path`.
  Section(const Node* node, const Place& parent, std::string path);

  // Whether the key was given with a value.
  bool has(const std::string& key) const;

  void whole(const std::string& key, std::int64_t& field, WholeRange range) const;
  void whole(const std::string& key, std::optional<std::int64_t>& field, WholeRange range) const;
  void number(const std::string& key, double& field, NumberRange range) const;
  void number(const std::string& key, std::optional<double>& field, NumberRange range) const;
  void pair(const std::string& key, std::array<double, 2>& field, NumberRange range) const;
  void flag(const std::string& key, bool& field) const;
  void text(const std::string& key, std::string& field) const;
  void text(const std::string& key, std::optional<std::string>& field) const;

  template <class Enum>
  void choice(const std::string& key, Enum& field) const {
    if (const Node* node = child(key)) {
      field = static_cast<Enum>(to_choice(scalar(*node, "a word"), names_of(Enum{})));
    }
  }

  // The setting of a key that holds a scalar; nothing when absent.
  std::optional<Setting> setting(const std::string& key) const;

  // The section under a key; absent is fine.
  Section section(const std::string& key) const { return {child(key), place_, path_of(key)}; }

  // The error about a key of this section, at its line if it was given.
  UserError error(const std::string& key, std::string_view what) const;

  // UserError unless the key was given.
  void require(const std::string& key, std::string_view example) const;

 private:
  const Node* child(const std::string& key) const { return node_ ? node_->find(key) : nullptr; }
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  Setting scalar(const Node& node, std::string_view wanted) const;

  const Node* node_;
  Place place_;
  std::string path_;
};

}  // namespace headway::record
