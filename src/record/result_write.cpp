#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "record/result.h"
#include "record/result_fields.h"

namespace headway::record {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
requires std::is_arithmetic_v<T> || std::same_as<T, std::string> Json json_of(const T& value) {
  return value;
}

template <class T>
requires std::is_enum_v<T> Json json_of(const T& value) {
  return name_of(value);
}

Json json_of(const Machine& machine);
Json json_of(const StrategyConfig& strategy);
Json json_of(const StepTime& time);
Json json_of(const Metrics& metrics);
Json json_of(const BreakdownRow& row);
Json json_of(const PeerRow& peer);
Json json_of(const std::map<std::string, std::vector<double>>& samples);

template <class T>
Json json_of(const std::vector<T>& list) {
  Json json = Json::array();
  for (const T& each : list) json.push_back(json_of(each));
  return json;
}

// Puts each visited field into an object; an optional one only when it has a value.
struct Writer {
  Json& json;

  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = json_of(value);
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) const {
    if (value) json[name] = json_of(*value);
  }
};

Json json_of(const Machine& machine) {
  Json json = Json::object();
  visit_machine(machine, Writer{json});
  return json;
}

Json json_of(const StrategyConfig& strategy) {
  Json all = Json::object(), usual = Json::object(), json = Json::object();
  const StrategyConfig defaults;
  visit_strategy(strategy, Writer{all});
  visit_strategy(defaults, Writer{usual});
  for (const auto& [key, value] : all.items()) {
    if (value != usual[key]) json[key] = value;
  }
  return json;
}

Json json_of(const StepTime& time) {
  Json json = Json::object();
  visit_step_time(time, Writer{json});
  return json;
}

Json json_of(const Metrics& metrics) {
  Json json = Json::object();
  visit_metrics(metrics, Writer{json});
  if (metrics.item.empty()) json.erase("item");
  return json;
}

Json json_of(const BreakdownRow& row) {
  Json json = Json::object();
  visit_row(row, Writer{json});
  return json;
}

Json json_of(const PeerRow& peer) {
  Json json = Json::object();
  visit_peer(peer, Writer{json});
  return json;
}

Json json_of(const std::map<std::string, std::vector<double>>& samples) {
  Json json = Json::object();
  for (const auto& [name, values] : samples) json[name] = json_of(values);
  return json;
}

Json json_of(const Result& result) {
  Json json = Json::object();
  json["schema"] = kResultSchema;
  visit_result(result, Writer{json});
  if (result.peers.empty()) json.erase("peers");
  return json;
}

// nlohmann-json writes NaN and infinities as null.
std::string dump(const Json& json, int indent) {
  return json.dump(indent < 0 ? -1 : indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Result& result, int indent) {
  return dump(json_of(result), indent);
}

std::string to_json(std::span<const Result> results, int indent) {
  Json json = Json::array();
  for (const Result& each : results) json.push_back(json_of(each));
  return dump(json, indent);
}

}  // namespace headway::record
