#include "record/model_config.h"

#include <algorithm>

namespace headway::record {
namespace {

Setting setting_of(const Option& option) {
  return {option.text, "model." + option.key, option.where};
}

}  // namespace

const Option* ModelConfig::find(const std::string& key) const {
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& each) { return each.key == key; });
  return found == options.end() ? nullptr : &*found;
}

std::int64_t ModelConfig::get_int(const std::string& key, std::int64_t fallback, WholeRange range) const {
  const Option* option = find(key);
  return option ? to_whole(setting_of(*option), range) : fallback;
}

double ModelConfig::get_double(const std::string& key, double fallback, NumberRange range) const {
  const Option* option = find(key);
  return option ? to_number(setting_of(*option), range) : fallback;
}

bool ModelConfig::get_bool(const std::string& key, bool fallback) const {
  const Option* option = find(key);
  return option ? to_flag(setting_of(*option)) : fallback;
}

std::string ModelConfig::get_text(const std::string& key, const std::string& fallback) const {
  const Option* option = find(key);
  return option ? option->text : fallback;
}

std::string ModelConfig::get_choice(const std::string& key, const std::string& fallback,
                                    std::span<const std::string> known) const {
  const Option* option = find(key);
  return option ? known[to_choice(setting_of(*option), known)] : fallback;
}

void ModelConfig::set(const std::string& key, const std::string& text) {
  for (Option& option : options) {
    if (option.key == key) {
      option = {key, text, {}};
      return;
    }
  }
  options.push_back({key, text, {}});
}

void ModelConfig::require_known(std::span<const std::string> known) const {
  for (const Option& option : options) {
    if (std::find(known.begin(), known.end(), option.key) == known.end()) {
      throw unknown_key(option.where, "model", option.key, known);
    }
  }
}

}  // namespace headway::record
