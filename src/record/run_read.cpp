#include "record/run_read.h"

#include <fmt/core.h>

#include <algorithm>

#include "record/section.h"

namespace headway::record {
namespace {

// Upper bounds far over any use, so that a product of two settings does not overflow 64 bits.
constexpr std::int64_t kMostSteps = 1'000'000'000'000;
constexpr std::int64_t kMostParts = 1'000'000;

constexpr NumberRange kShare = {0, 1, false, false};
constexpr NumberRange kBelowOne = {0, 1, false, true};
constexpr NumberRange kPositive = {0, std::numeric_limits<double>::infinity(), true, false};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ModelConfig read_model(const Node* node, const Place& file) {
  constexpr std::string_view kExample = "model: {name: mlp}";
  if (node == nullptr || node->kind == Node::Kind::kNull) {
    throw input_error(node ? node->place : file, "model", fmt::format("is missing; write {}", kExample));
  }
  if (node->kind != Node::Kind::kMap) {
    throw input_error(node->place, "model",
                      fmt::format("{} stands where a section is needed; write {}", describe(*node), kExample));
  }
  ModelConfig model;
  model.where = node->place;
  for (const Node& child : node->children) {
    const std::string path = fmt::format("model.{}", shown(child.key));
    if (child.kind != Node::Kind::kScalar) {
      throw input_error(child.place, path, fmt::format("is {}; a value is needed", describe(child)));
    }
    if (child.key == "name") {
      model.name = child.text;
    } else {
      model.options.push_back({child.key, child.text, child.place});
    }
  }
  if (model.name.empty()) throw input_error(node->place, "model.name", fmt::format("is missing; write {}", kExample));
  return model;
}

void read_valid(const Section& section, DataConfig& data) {
  const std::optional<Setting> setting = section.setting("valid");
  if (!setting) return;
  data.valid_test = setting->text == "test";
  if (data.valid_test) return;
  if (setting->text.find_first_of("0123456789") == std::string::npos) {
    throw section.error("valid", fmt::format("'{}' is neither a share of the samples in [0, 1) nor the word test",
                                             shown(setting->text)));
  }
  data.valid = to_number(*setting, kBelowOne);
}

WindowConfig read_windows(const Section& section) {
  WindowConfig windows;
  section.whole("window", windows.window, {1, kMostSteps});
  section.whole("stride", windows.stride, {1, kMostSteps});
  section.whole("horizon", windows.horizon, {1, kMostSteps});
  section.choice("label", windows.label);
  section.number("alpha", windows.alpha, {});
  section.choice("normalise", windows.normalise);
  section.whole("purge", windows.purge, {0, kMostSteps});
  section.text("price", windows.price);
  section.whole("days", windows.days, {1, kMostParts});
  section.choice("arrivals", windows.arrivals);
  return windows;
}

DataConfig read_data(const Section& section) {
  section.require("source", "source: synthetic");
  section.require("batch", "batch: 64");
  DataConfig data;
  section.text("source", data.source);
  section.whole("batch", data.batch, {1, 1'000'000'000});
  read_valid(section, data);
  section.flag("shuffle", data.shuffle);
  section.whole("prefetch", data.prefetch, {0, 1024});
  section.whole("rows", data.rows, {1, kMostSteps});
  section.text("path", data.path);
  data.windows = read_windows(section);
  return data;
}

OptimizerConfig read_optimizer(const Section& section) {
  OptimizerConfig optimizer;
  section.choice("name", optimizer.name);
  section.number("lr", optimizer.lr, {});
  section.pair("betas", optimizer.betas, kBelowOne);
  section.number("eps", optimizer.eps, kPositive);
  section.number("weight_decay", optimizer.weight_decay, {});
  section.number("momentum", optimizer.momentum, kBelowOne);
  return optimizer;
}

LrSchedule read_schedule(const Section& section, const std::optional<std::int64_t>& steps) {
  constexpr std::int64_t kUsualWarmup = 50;
  LrSchedule schedule;
  section.choice("name", schedule.name);
  schedule.warmup = steps ? std::min(kUsualWarmup, *steps / 10) : kUsualWarmup;
  section.whole("warmup", schedule.warmup, {0, kMostSteps});
  section.number("final", schedule.final, kShare);
  return schedule;
}

std::optional<Target> read_target(const Section& train, const DataConfig& data) {
  const Section section = train.section("target");
  if (!train.has("target")) return std::nullopt;
  Target target;
  section.choice("metric", target.metric);
  section.number("below", target.below, {-kInfinity, kInfinity});
  section.number("above", target.above, {-kInfinity, kInfinity});
  if (target.below && target.above) throw section.error("above", "below is given too; keep one of them");
  if (!target.below && !target.above) {
    throw train.error("target", "has no limit; give below or above (example: below: 2.0)");
  }
  const bool validates = data.valid_test || data.valid > 0;
  if (target.metric != TargetMetric::kTrainLoss && !validates) {
    throw section.error("metric", fmt::format("{} needs validation samples, but data.valid is 0; give a share such as "
                                              "0.05, or metric: train_loss",
                                              name_of(target.metric)));
  }
  return target;
}

void read_length(const Section& section, TrainConfig& train) {
  if (section.has("steps") && section.has("epochs")) {
    throw section.error("epochs", "steps is given too; keep one of them");
  }
  section.whole("steps", train.steps, {1, kMostSteps});
  section.whole("epochs", train.epochs, {1, kMostSteps});
  if (train.epochs) train.steps.reset();
}

TrainConfig read_train(const Section& section, const DataConfig& data) {
  TrainConfig train;
  read_length(section, train);
  section.whole("seed", train.seed, {});
  section.choice("precision", train.precision);
  section.whole("accumulate", train.accumulate, {1, kMostParts});
  train.optimizer = read_optimizer(section.section("optimizer"));
  train.schedule = read_schedule(section.section("schedule"), train.steps);
  section.number("clip", train.clip, {});
  section.choice("recompute", train.recompute);
  section.flag("deterministic", train.deterministic);
  const Section evaluate = section.section("evaluate");
  evaluate.whole("every", train.evaluate.every, {0, kMostSteps});
  evaluate.whole("batches", train.evaluate.batches, {0, kMostSteps});
  train.target = read_target(section, data);
  const Section checkpoint = section.section("checkpoint");
  checkpoint.text("dir", train.checkpoint.dir);
  checkpoint.whole("every", train.checkpoint.every, {0, kMostSteps});
  checkpoint.whole("keep", train.checkpoint.keep, {1, kMostParts});
  return train;
}

StrategyConfig read_strategy(const Section& section) {
  constexpr WholeRange kParts = {1, kMostParts};
  StrategyConfig strategy;
  section.whole("dp", strategy.dp, kParts);
  section.whole("tp", strategy.tp, kParts);
  section.flag("sp", strategy.sp);
  section.whole("pp", strategy.pp, kParts);
  section.whole("cp", strategy.cp, kParts);
  section.whole("ep", strategy.ep, kParts);
  section.whole("zero", strategy.zero, {0, 3});
  section.choice("schedule", strategy.schedule);
  section.whole("interleave", strategy.interleave, kParts);
  section.whole("micro_batches", strategy.micro_batches, kParts);
  section.number("bucket_mb", strategy.bucket_mb, kPositive);
  section.choice("order", strategy.order);
  return strategy;
}

}  // namespace

Run read_run(const Node& root) {
  const Place file{root.place.file, 0};
  if (root.kind == Node::Kind::kNull) {
    throw input_error(file, "",
                      "is empty; a run file has at least model: {name: ...} and data: {source: ..., batch: ...}");
  }
  const Section top(&root, file, "");
  Run run;
  run.model = read_model(root.find("model"), file);
  if (!top.has("data")) throw input_error(file, "data", "is missing; write data: {source: synthetic, batch: 64}");
  run.data = read_data(top.section("data"));
  run.train = read_train(top.section("train"), run.data);
  run.strategy = read_strategy(top.section("strategy"));
  return run;
}

}  // namespace headway::record
