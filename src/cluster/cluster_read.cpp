#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/cluster.h"

namespace headway::cluster {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kSchema = "headway.cluster/1";

// Beyond these a figure is a slip of the pen: a thousand times what the fastest device of 2026 has.
constexpr double kMostFlops = 1e19, kMostBandwidth = 1e17, kMostSeconds = 1e6, kMostError = 1e6;

// A YAML node with what a message about it has to name.
class Item {
 public:
  Item(const YAML::Node& node, const std::string& file, std::string path, int line)
      : node_(node), file_(file), path_(std::move(path)), line_(line) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}:{}: {}{}{}", file_, line_, path_, path_.empty() ? "" : ": ", what));
  }

  std::string text() const {
    if (!node_.IsScalar()) fail(fmt::format("is {}; a word is needed", kind()));
    return node_.Scalar();
  }

  double number(double most) const {
    const std::string text = scalar("a number");
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::invalid_argument || end != text.data() + text.size()) {
      fail(fmt::format("'{}' is not a number", text));
    }
    if (code != std::errc() || !std::isfinite(value)) fail(fmt::format("'{}' is not a finite number", text));
    if (value <= 0) fail(fmt::format("'{}' is not positive", text));
    if (value > most) fail(fmt::format("'{}' is larger than any device has; at most {:g}", text, most));
    return value;
  }

  std::int64_t whole(std::int64_t most = std::int64_t{1} << 53) const {
    const std::string text = scalar("a whole number");
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::invalid_argument || end != text.data() + text.size()) {
      fail(fmt::format("'{}' is not a whole number", text));
    }
    if (code != std::errc() || value > most) fail(fmt::format("'{}' is too large; at most {}", text, most));
    if (value <= 0) fail(fmt::format("'{}' is not positive", text));
    return value;
  }

  // The entries of a section in the order of the text, keys given once.
  std::vector<std::pair<std::string, Item>> entries() const {
    if (!node_.IsMap()) fail(fmt::format("is {}; a section is needed", kind()));
    std::vector<std::pair<std::string, Item>> result;
    std::set<std::string> seen;
    for (const auto& entry : node_) {
      const int line = entry.first.Mark().line + 1;
      if (!entry.first.IsScalar()) Item(entry.first, file_, path_, line).fail("a key must be a word");
      const std::string key = entry.first.Scalar();
      Item item(entry.second, file_, path_.empty() ? key : path_ + "." + key, line);
      if (!seen.insert(key).second) item.fail("is given twice");
      result.emplace_back(key, std::move(item));
    }
    return result;
  }

  std::vector<Item> list() const {
    if (!node_.IsSequence()) fail(fmt::format("is {}; a list is needed", kind()));
    std::vector<Item> result;
    for (std::size_t index = 0; index < node_.size(); ++index) {
      result.emplace_back(node_[index], file_, fmt::format("{}[{}]", path_, index), node_[index].Mark().line + 1);
    }
    return result;
  }

  // A list of exactly `columns` items.
  std::vector<Item> row(std::size_t columns) const {
    std::vector<Item> items = list();
    if (items.size() != columns) fail(fmt::format("has {} numbers; {} are needed", items.size(), columns));
    return items;
  }

  [[noreturn]] void unknown(const std::string& what, const std::string& word, const Names& known) const {
    fail(fmt::format("unknown {} '{}'{}", what, word, suggestion(word, known)));
  }

 private:
  std::string kind() const {
    return node_.IsMap() ? "a section" : node_.IsSequence() ? "a list" : node_.IsNull() ? "empty" : "a word";
  }
  std::string scalar(const char* wanted) const {
    if (!node_.IsScalar()) fail(fmt::format("is {}; {} is needed", kind(), wanted));
    return node_.Scalar();
  }

  YAML::Node node_;
  const std::string& file_;
  std::string path_;
  int line_;
};

// A section whose keys are all known; every one of `required` is there.
class Section {
 public:
  Section(const Item& item, const Names& required, const Names& optional) : item_(item) {
    Names known = required;
    known.insert(known.end(), optional.begin(), optional.end());
    for (auto& [key, child] : item.entries()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) child.unknown("key", key, known);
      children_.emplace(key, std::move(child));
    }
    for (const std::string& key : required) {
      if (!children_.contains(key)) item_.fail(fmt::format("'{}' is missing; is the file complete?", key));
    }
  }
  const Item& at(const std::string& key) const { return children_.at(key); }
  const Item* find(const std::string& key) const {
    const auto found = children_.find(key);
    return found == children_.end() ? nullptr : &found->second;
  }

 private:
  const Item& item_;
  std::map<std::string, Item> children_;
};

DType read_dtype(const Item& item, const std::string& name) {
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) item.unknown("element type", name, {"f32", "bf16", "f16", "f64", "i8"});
  return *dtype;
}

void read_point(const Item& item, OpPoint& point) {
  const std::vector<Item> row = item.row(2);
  point = {Bytes(row[0].whole()), Seconds(row[1].number(kMostSeconds))};
}
void read_point(const Item& item, BandwidthPoint& point) {
  const std::vector<Item> row = item.row(2);
  point = {Bytes(row[0].whole()), BytesPerSecond(row[1].number(kMostBandwidth))};
}
void read_point(const Item& item, GemmPoint& point) {
  const std::vector<Item> row = item.row(4);
  point = {row[0].whole(), row[1].whole(), row[2].whole(), FlopsPerSecond(row[3].number(kMostFlops))};
}
void read_point(const Item& item, AttentionPoint& point) {
  const std::vector<Item> row = item.row(4);
  point = {row[0].whole(), row[1].whole(), row[2].whole(), FlopsPerSecond(row[3].number(kMostFlops))};
}
void read_point(const Item& item, RecurrentPoint& point) {
  const std::vector<Item> row = item.row(4);
  point = {row[0].whole(), row[1].whole(), row[2].whole(), FlopsPerSecond(row[3].number(kMostFlops))};
}
void read_point(const Item& item, ConvPoint& point) {
  const std::vector<Item> row = item.row(7);
  point = {row[0].whole(),
           row[1].whole(),
           row[2].whole(),
           row[3].whole(),
           row[4].whole(),
           row[5].whole(),
           FlopsPerSecond(row[6].number(kMostFlops))};
}

// What a point was measured at; a second value for it would be a contradiction.
std::array<std::int64_t, 6> sizes(const OpPoint& point) {
  return {point.bytes.value};
}
std::array<std::int64_t, 6> sizes(const BandwidthPoint& point) {
  return {point.working_set.value};
}
std::array<std::int64_t, 6> sizes(const GemmPoint& point) {
  return {point.m, point.n, point.k};
}
std::array<std::int64_t, 6> sizes(const AttentionPoint& point) {
  return {point.groups, point.sequence, point.head_size};
}
std::array<std::int64_t, 6> sizes(const RecurrentPoint& point) {
  return {point.batch, point.features, point.hidden};
}
std::array<std::int64_t, 6> sizes(const ConvPoint& point) {
  return {point.batch, point.height, point.width, point.in, point.out, point.kernel};
}

template <class Point>
std::vector<Point> read_points(const Item& item) {
  std::vector<Point> points;
  std::set<std::array<std::int64_t, 6>> seen;
  for (const Item& row : item.list()) {
    read_point(row, points.emplace_back());
    if (!seen.insert(sizes(points.back())).second) row.fail("was measured twice at these sizes");
  }
  if (points.empty()) item.fail("has no points; leave the key out");
  return points;
}

// Keys are an element type, a dot, and one of `names` (any, when empty) perhaps with more after a dot.
template <class Point>
void read_curves(const Item* item, const Names& names, std::map<std::string, std::vector<Point>>& curves) {
  if (item == nullptr) return;
  for (const auto& [key, child] : item->entries()) {
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos) child.fail("a curve's name begins with an element type, such as f32.nt");
    read_dtype(child, key.substr(0, dot));
    const std::string name = key.substr(dot + 1, key.find('.', dot + 1) - dot - 1);
    if (name.empty()) child.fail("a curve has a name after its element type, such as f32.nt");
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      child.unknown("curve", name, names);
    }
    curves[key] = read_points<Point>(child);
  }
}

DeviceKind read_device(const Item& item) {
  const Section section(item,
                        {"name", "model", "threads", "memory_bytes", "launch_overhead_s", "peak_flops", "bandwidth"},
                        {"relative_error", "gemm", "conv", "attention", "recurrent", "ops"});
  DeviceKind device;
  device.name = section.at("name").text();
  device.model = section.at("model").text();
  device.threads = static_cast<int>(section.at("threads").whole(1 << 20));
  device.memory = Bytes(section.at("memory_bytes").whole());
  device.launch_overhead = Seconds(section.at("launch_overhead_s").number(kMostSeconds));
  if (const Item* error = section.find("relative_error")) device.relative_error = error->number(kMostError);
  for (const auto& [key, child] : section.at("peak_flops").entries()) {
    device.peak[read_dtype(child, key)] = FlopsPerSecond(child.number(kMostFlops));
  }
  if (!device.peak.contains(DType::kF32)) section.at("peak_flops").fail("'f32' is missing");
  device.bandwidth = read_points<BandwidthPoint>(section.at("bandwidth"));
  read_curves(section.find("gemm"), {"nt", "nn", "tn", "tt"}, device.gemm);
  read_curves(section.find("conv"), {"conv2d", "conv2d_grad_input", "conv2d_grad_weight"}, device.conv);
  read_curves(section.find("attention"), {"attention", "attention_grad"}, device.attention);
  read_curves(section.find("recurrent"), {"recurrent", "recurrent_grad"}, device.recurrent);
  read_curves(section.find("ops"), {}, device.ops);
  return device;
}

Cluster read_cluster(const Item& root) {
  // The version comes first: the keys of another version mean nothing here.
  for (const auto& [key, child] : root.entries()) {
    if (key == "schema" && child.text() != kSchema) {
      child.fail(fmt::format("'{}' cannot be read here; this program reads {}; measure again with: headway probe",
                             child.text(), kSchema));
    }
  }
  // The last key, so that a file cut anywhere lacks it.
  const Section section(root, {"schema", "name", "measured", "devices", "complete"}, {});
  if (section.at("complete").text() != "true") section.at("complete").fail("is not true; measure again");
  Cluster cluster{section.at("name").text(), section.at("measured").text(), {}};
  std::set<std::string> names;
  for (const Item& item : section.at("devices").list()) {
    cluster.devices.push_back(read_device(item));
    if (!names.insert(cluster.devices.back().name).second) item.fail("has the name of a device before it");
  }
  if (cluster.devices.empty()) section.at("devices").fail("is empty; a cluster has at least one device");
  return cluster;
}

}  // namespace

Cluster parse_cluster(const std::string& text, const std::string& file) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() != 1) {
      throw UserError(fmt::format("{}:1: {} YAML documents; a cluster file holds one", file, documents.size()));
    }
    return read_cluster(Item(documents[0], file, "", 1));
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    throw UserError(fmt::format("{}:{}: not valid YAML: {}", file, line, error.msg));
  }
}

Cluster load_cluster(const std::string& path) {
  return parse_cluster(read_file(path), path);
}

}  // namespace headway::cluster
