#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "record/result.h"
#include "record/result_fields.h"

namespace headway::record {
namespace {

using Json = nlohmann::json;

// A JSON value, and what a message about it has to name.
struct Cursor {
  const Json& json;
  std::string path;
  const std::string& where;

  Cursor at(const Json& child, const std::string& key) const {
    return {child, path.empty() ? key : path + "." + key, where};
  }
  Cursor at(const Json& child, std::size_t index) const { return {child, fmt::format("{}[{}]", path, index), where}; }

  UserError error(std::string_view what) const {
    return input_error({where, 0}, path, fmt::format("{} {}", describe(), what));
  }
  UserError wrong_type(std::string_view wanted) const { return error(fmt::format("is not {}", wanted)); }

  std::string describe() const {
    if (json.is_structured()) return json.is_array() ? "a list" : "an object";
    return shown(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
};

void read(const Cursor& cursor, std::string& value) {
  if (!cursor.json.is_string()) throw cursor.wrong_type("text");
  value = cursor.json.get<std::string>();
}

void read(const Cursor& cursor, double& value) {
  if (cursor.json.is_null()) {  // how NaN and infinities are written
    value = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  if (!cursor.json.is_number()) throw cursor.wrong_type("a number");
  value = cursor.json.get<double>();
}

void read(const Cursor& cursor, bool& value) {
  if (!cursor.json.is_boolean()) throw cursor.wrong_type("true or false");
  value = cursor.json.get<bool>();
}

void read(const Cursor& cursor, std::int64_t& value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: other programs may write counts as 2.0
  const Json& json = cursor.json;
  if (json.is_number_float()) {
    const double number = json.get<double>();
    if (std::abs(number) > kExact || number != std::floor(number)) throw cursor.wrong_type("a whole number");
    value = static_cast<std::int64_t>(number);
    return;
  }
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() > most)) {
    throw cursor.wrong_type("a whole number of 64 bits");
  }
  value = json.get<std::int64_t>();
}

template <class T>
requires std::is_enum_v<T>
void read(const Cursor& cursor, T& value) {
  std::string word;
  read(cursor, word);
  value = static_cast<T>(to_choice({word, cursor.path, {cursor.where, 0}}, names_of(T{})));
}

void read(const Cursor& cursor, Machine& machine);
void read(const Cursor& cursor, StrategyConfig& strategy);
void read(const Cursor& cursor, StepTime& time);
void read(const Cursor& cursor, Metrics& metrics);
void read(const Cursor& cursor, BreakdownRow& row);
void read(const Cursor& cursor, PeerRow& peer);
void read(const Cursor& cursor, std::map<std::string, std::vector<double>>& samples);

template <class T>
void read(const Cursor& cursor, std::vector<T>& list) {
  if (!cursor.json.is_array()) throw cursor.wrong_type("a list");
  for (std::size_t index = 0; index < cursor.json.size(); ++index) {
    read(cursor.at(cursor.json[index], index), list.emplace_back());
  }
}

// Fills each visited field from the object; absent keys leave it alone.
class Reader {
 public:
  explicit Reader(const Cursor& cursor) : cursor_(cursor) {
    if (!cursor.json.is_object()) throw cursor.wrong_type("an object");
  }

  template <class T>
  void operator()(const char* name, T& value) const {
    const auto found = cursor_.json.find(name);
    if (found != cursor_.json.end()) read(cursor_.at(*found, name), value);
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& value) const {
    const auto found = cursor_.json.find(name);
    if (found == cursor_.json.end()) return;
    // For a double, null is NaN; for all others it says the same as leaving the key out.
    if (!std::is_same_v<T, double> && found->is_null()) return;
    read(cursor_.at(*found, name), value.emplace());
  }

 private:
  const Cursor& cursor_;
};

void read(const Cursor& cursor, Machine& machine) {
  visit_machine(machine, Reader(cursor));
}
void read(const Cursor& cursor, StrategyConfig& strategy) {
  visit_strategy(strategy, Reader(cursor));
}
void read(const Cursor& cursor, StepTime& time) {
  visit_step_time(time, Reader(cursor));
}
void read(const Cursor& cursor, Metrics& metrics) {
  visit_metrics(metrics, Reader(cursor));
}
void read(const Cursor& cursor, BreakdownRow& row) {
  visit_row(row, Reader(cursor));
}
void read(const Cursor& cursor, PeerRow& peer) {
  visit_peer(peer, Reader(cursor));
}

void read(const Cursor& cursor, std::map<std::string, std::vector<double>>& samples) {
  if (!cursor.json.is_object()) throw cursor.wrong_type("an object");
  for (const auto& [name, values] : cursor.json.items()) read(cursor.at(values, name), samples[name]);
}

Result read_result(const Cursor& cursor) {
  const Reader reader(cursor);
  std::string schema;
  reader("schema", schema);
  if (schema != kResultSchema) {
    const std::string found = schema.empty() ? "is missing" : fmt::format("is '{}'", shown(schema));
    throw input_error({cursor.where, 0}, cursor.path.empty() ? "schema" : cursor.path + ".schema",
                      fmt::format("{}; this program reads '{}'", found, kResultSchema));
  }
  Result result;
  visit_result(result, reader);
  if (result.kind.empty()) throw cursor.error("has no kind; a result names its command");
  if (result.id.empty()) throw cursor.error("has no id");
  return result;
}

Json parse(std::string_view text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." - people need what follows the bracket.
    const std::string_view message = error.what();
    throw input_error({where, 0}, "", fmt::format("not valid JSON: {}", shown(message.substr(message.find(']') + 2))));
  }
}

}  // namespace

Result result_from_json(std::string_view text, const std::string& where) {
  const Json json = parse(text, where);
  return read_result({json, "", where});
}

std::vector<Result> results_from_json(std::string_view text, const std::string& where) {
  const Json json = parse(text, where);
  const Cursor all{json, "", where};
  if (!json.is_array()) return {read_result(all)};
  std::vector<Result> results;
  for (std::size_t index = 0; index < json.size(); ++index) results.push_back(read_result(all.at(json[index], index)));
  return results;
}

}  // namespace headway::record
