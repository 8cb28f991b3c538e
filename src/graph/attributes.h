// The constants of a node: a small sorted map from name to value. Printable and comparable, so graphs are too.
// Each op reads its own names once, into a typed struct in its header; nobody else looks inside.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headway::graph {

using AttributeValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries);

  void set(const std::string& name, AttributeValue value);

  // The value of a name; InternalError when it is missing or of another type: an op's own mistake.
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& list(std::string_view name) const;

  const std::vector<std::pair<std::string, AttributeValue>>& entries() const { return entries_; }
  bool operator==(const Attributes&) const = default;

 private:
  template <class T>
  const T& get(std::string_view name) const;

  std::vector<std::pair<std::string, AttributeValue>> entries_;  // sorted by name
};

// "{causal=true, heads=6}", or "" when empty.
std::string to_string(const Attributes& attributes);

}  // namespace headway::graph
