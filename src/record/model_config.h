// The `model` section of a run file: a name, and options that only the model of that name understands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "record/place.h"
#include "record/scalar.h"

namespace headway::record {

// One option as it was written; the models folder knows its type.
struct Option {
  std::string key;
  std::string text;
  Place where;

  bool operator==(const Option&) const = default;
};

struct ModelConfig {
  std::string name;
  std::vector<Option> options;
  Place where;

  // The option, or nullptr when it was not given.
  const Option* find(const std::string& key) const;

  // The option as a type, or `fallback` when it was not given. UserError names file, line, key, value and what would
  // be right.
  std::int64_t get_int(const std::string& key, std::int64_t fallback, WholeRange range = {1}) const;
  double get_double(const std::string& key, double fallback, NumberRange range = {}) const;
  bool get_bool(const std::string& key, bool fallback) const;
  std::string get_text(const std::string& key, const std::string& fallback) const;
  std::string get_choice(const std::string& key, const std::string& fallback, std::span<const std::string> known) const;

  // Sets or replaces an option; for workloads that the program defines itself.
  void set(const std::string& key, const std::string& text);

  // UserError for the first option that is not in `known`; it names the nearest.
  void require_known(std::span<const std::string> known) const;

  bool operator==(const ModelConfig&) const = default;
};

}  // namespace headway::record
