#include "record/run.h"

#include <fmt/core.h>

#include <fstream>
#include <utility>

#include "base/file.h"
#include "record/run_override.h"
#include "record/run_read.h"
#include "record/yaml_tree.h"

namespace headway::record {
namespace {

// A run file is a page of text. The bound keeps a mistake (a data file, a device) from filling the memory.
constexpr std::size_t kLargestFile = std::size_t{1} << 20;

void check_size(std::size_t size, const std::string& file_name) {
  if (size <= kLargestFile) return;
  throw UserError(fmt::format("{}: is larger than 1 MiB, so it is no run file", file_name));
}

// Reads at most one byte over the limit: pipes and devices have no size to ask for.
std::string read_limited(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream stream;
  if (!std::filesystem::is_directory(path, ignored)) stream.open(path, std::ios::binary);
  if (!stream.is_open()) return read_file(path);  // which says what is wrong
  std::string text(kLargestFile + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw EnvironmentError(fmt::format("cannot read {}", path.string()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

void collect_places(const Node& node, const std::string& path, Places& places) {
  if (node.kind == Node::Kind::kMap) {
    for (const Node& child : node.children) {
      const std::string below = path.empty() ? child.key : path + "." + child.key;
      places.by_key[below] = child.place;
      collect_places(child, below, places);
    }
  }
}

}  // namespace

Run parse_run(std::string_view text, const std::string& file_name, const std::vector<std::string>& overrides) {
  check_size(text.size(), file_name);
  Node root = parse_yaml(text, {file_name, 1});
  root.place = {file_name, 1};
  for (const std::string& each : overrides) apply_override(root, each);
  Run run = read_run(root);
  run.places.by_key[""] = {file_name, 0};
  collect_places(root, "", run.places);
  return run;
}

Run load_run(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return parse_run(read_limited(path), path.string(), overrides);
}

UserError error_at(const Run& run, const std::string& path, std::string_view what) {
  // A setting that was not given is shown at the section that would hold it.
  std::string at = path;
  while (!at.empty() && !run.places.by_key.contains(at)) at.resize(at.find('.') == at.npos ? 0 : at.rfind('.'));
  const auto found = run.places.by_key.find(at);
  return input_error(found == run.places.by_key.end() ? Place{} : found->second, path, what);
}

}  // namespace headway::record
