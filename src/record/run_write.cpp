#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "record/run.h"

namespace headway::record {
namespace {

bool is_number(const std::string& text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

bool is_plain(const std::string& text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";
  if (is_number(text)) return true;
  if (text == "null" || text == "Null" || text == "NULL") return false;
  return !text.empty() && kLetters.find(text[0]) != kLetters.npos &&
         std::all_of(text.begin(), text.end(), [&](char each) {
           return (kLetters.find(each) != kLetters.npos) || each == '.' || each == '-' || each == '+';
         });
}

// Plain when YAML cannot take the word for anything else, in double quotes otherwise.
std::string word(const std::string& text) {
  if (is_plain(text)) return text;
  std::string quoted = "\"";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') {
      quoted += '\\';
      quoted += each;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += each;
    }
  }
  return quoted + "\"";
}

std::string word_or_null(const std::optional<std::string>& text) {
  return text ? word(*text) : "null";
}

std::string model_yaml(const ModelConfig& model) {
  std::string text = fmt::format("model: {{name: {}", word(model.name));
  for (const Option& option : model.options) text += fmt::format(", {}: {}", word(option.key), word(option.text));
  return text + "}\n";
}

std::string number_or_null(const auto& number) {
  return number ? fmt::format("{}", *number) : "null";
}

std::string data_yaml(const DataConfig& data) {
  const WindowConfig& windows = data.windows;
  return fmt::format("data: {{source: {}, batch: {}, valid: {}, shuffle: {}, prefetch: {}, rows: {}, path: {},\n",
                     word(data.source), data.batch, data.valid_test ? "test" : fmt::format("{}", data.valid),
                     data.shuffle, data.prefetch, data.rows, word_or_null(data.path)) +
         fmt::format("       window: {}, stride: {}, horizon: {}, label: {}, alpha: {}, normalise: {}, purge: {},\n",
                     number_or_null(windows.window), windows.stride, windows.horizon, name_of(windows.label),
                     number_or_null(windows.alpha), name_of(windows.normalise), number_or_null(windows.purge)) +
         fmt::format("       price: {}, days: {}, arrivals: {}}}\n", word(windows.price), windows.days,
                     name_of(windows.arrivals));
}

std::string target_yaml(const std::optional<Target>& target) {
  if (!target) return "null";
  return fmt::format("{{metric: {}, {}: {}}}", name_of(target->metric), target->below ? "below" : "above",
                     target->below ? *target->below : target->above.value_or(0));
}

std::string train_yaml(const TrainConfig& train) {
  std::string text = "train:\n";
  const auto line = [&](std::string_view key, const auto& value) { text += fmt::format("  {}: {}\n", key, value); };
  line(train.epochs ? "epochs" : "steps", train.epochs ? *train.epochs : train.steps.value_or(100));
  line("seed", train.seed);
  line("precision", name_of(train.precision));
  line("accumulate", train.accumulate);
  const OptimizerConfig& optimizer = train.optimizer;
  line("optimizer", fmt::format("{{name: {}, lr: {}, betas: [{}, {}], eps: {}, weight_decay: {}, momentum: {}}}",
                                name_of(optimizer.name), optimizer.lr, optimizer.betas[0], optimizer.betas[1],
                                optimizer.eps, optimizer.weight_decay, optimizer.momentum));
  line("schedule", fmt::format("{{name: {}, warmup: {}, final: {}}}", name_of(train.schedule.name),
                               train.schedule.warmup, train.schedule.final));
  line("clip", train.clip);
  line("recompute", name_of(train.recompute));
  line("deterministic", train.deterministic);
  line("evaluate", fmt::format("{{every: {}, batches: {}}}", train.evaluate.every, train.evaluate.batches));
  line("target", target_yaml(train.target));
  line("checkpoint", fmt::format("{{dir: {}, every: {}, keep: {}}}", word_or_null(train.checkpoint.dir),
                                 train.checkpoint.every, train.checkpoint.keep));
  return text;
}

std::string strategy_yaml(const StrategyConfig& strategy) {
  return fmt::format(
      "strategy: {{dp: {}, tp: {}, sp: {}, pp: {}, cp: {}, ep: {}, zero: {}, schedule: {}, interleave: {},\n"
      "           micro_batches: {}, bucket_mb: {}, order: {}}}\n",
      strategy.dp, strategy.tp, strategy.sp, strategy.pp, strategy.cp, strategy.ep, strategy.zero,
      name_of(strategy.schedule), strategy.interleave, strategy.micro_batches, strategy.bucket_mb,
      name_of(strategy.order));
}

}  // namespace

std::string to_yaml(const Run& run) {
  return model_yaml(run.model) + data_yaml(run.data) + train_yaml(run.train) + strategy_yaml(run.strategy);
}

}  // namespace headway::record
