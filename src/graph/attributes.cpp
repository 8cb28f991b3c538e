#include "graph/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace headway::graph {
namespace {

auto find(auto& entries, std::string_view name) {
  return std::lower_bound(entries.begin(), entries.end(), name,
                          [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
}

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ", "));
  }
};

}  // namespace

Attributes::Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries) {
  for (const auto& [name, value] : entries) set(name, value);
}

void Attributes::set(const std::string& name, AttributeValue value) {
  const auto at = find(entries_, name);
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.insert(at, {name, std::move(value)});
  }
}

template <class T>
const T& Attributes::get(std::string_view name) const {
  const auto at = find(entries_, name);
  HEADWAY_CHECK(at != entries_.end() && at->first == name, fmt::format("no attribute '{}'", name));
  const T* value = std::get_if<T>(&at->second);
  HEADWAY_CHECK(value != nullptr, fmt::format("attribute '{}' has another type", name));
  return *value;
}

bool Attributes::flag(std::string_view name) const {
  return get<bool>(name);
}
std::int64_t Attributes::integer(std::string_view name) const {
  return get<std::int64_t>(name);
}
double Attributes::number(std::string_view name) const {
  return get<double>(name);
}
const std::string& Attributes::text(std::string_view name) const {
  return get<std::string>(name);
}
const std::vector<std::int64_t>& Attributes::list(std::string_view name) const {
  return get<std::vector<std::int64_t>>(name);
}

std::string to_string(const Attributes& attributes) {
  if (attributes.entries().empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, value] : attributes.entries()) {
    parts.push_back(fmt::format("{}={}", name, std::visit(Printer{}, value)));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace headway::graph
