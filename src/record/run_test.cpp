#include "record/run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace headway::record {
namespace {

// The complete file of the design, with every setting off its default where that is possible.
constexpr const char* kComplete =
    R"(model: {name: gpt, layers: 6, hidden: 384, dropout: 0.5, tied: false, note: "a, b: #c"}
data: {source: kjv, batch: 8, valid: 0.25, shuffle: false, prefetch: 3, rows: 1000, path: "/tmp/a b, c",
       window: 50, stride: 2, horizon: 20, label: smooth_direction, alpha: 0.002, normalise: day, purge: 90, price: close,
       days: 4, arrivals: hawkes}
train:
  steps: 600
  seed: 7
  precision: bf16
  accumulate: 4
  optimizer: {name: sgd, lr: 2.0e-3, betas: [0.8, 0.99], eps: 1.0e-6, weight_decay: 0.2, momentum: 0.9}
  schedule: {name: linear, warmup: 60, final: 0.2}
  clip: 0
  recompute: selective
  deterministic: true
  evaluate: {every: 0, batches: 0}
  target: {metric: valid_accuracy, above: 0.9}
  checkpoint: {dir: out/run, every: 50, keep: 5}
strategy: {dp: 2, tp: 3, sp: true, pp: 4, cp: 5, ep: 6, zero: 3, schedule: gpipe, interleave: 2,
           micro_batches: 8, bucket_mb: 12.5, order: any}
)";
constexpr const char* kShortest = "model: {name: mlp}\ndata: {source: synthetic, batch: 64}\n";

TEST(RunFile, EverySettingIsRead) {
  const auto run = parse_run(kComplete, "x.yaml");
  EXPECT_EQ(run.model.name, "gpt");
  ASSERT_EQ(run.model.options.size(), 5U);
  EXPECT_EQ(run.model.options[1], (Option{"hidden", "384", {}}));
  EXPECT_EQ(run.model.get_text("note", ""), "a, b: #c");
  const WindowConfig windows = {50, 2,       20, WindowLabel::kSmoothDirection, 0.002, WindowNormalise::kDay,
                                90, "close", 4,  ArrivalProcess::kHawkes};
  const DataConfig data = {"kjv", 8, 0.25, false, false, 3, 1000, "/tmp/a b, c", windows};
  EXPECT_EQ(run.data, data);
  TrainConfig train;
  train.steps = 600;
  train.seed = 7;
  train.precision = Precision::kBF16;
  train.accumulate = 4;
  train.optimizer = {OptimizerKind::kSgd, 2e-3, {0.8, 0.99}, 1e-6, 0.2, 0.9};
  train.schedule = {LrCurve::kLinear, 60, 0.2};
  train.clip = 0;
  train.recompute = Recompute::kSelective;
  train.deterministic = true;
  train.evaluate = {0, 0};
  train.target = Target{TargetMetric::kValidAccuracy, std::nullopt, 0.9};
  train.checkpoint = {"out/run", 50, 5};
  EXPECT_EQ(run.train, train);
  const StrategyConfig strategy = {2, 3, true, 4, 5, 6, 3, PipelineOrder::kGPipe, 2, 8, 12.5, ReduceOrder::kAny};
  EXPECT_EQ(run.strategy, strategy);
}

TEST(RunFile, DefaultsAreThoseOfTheStructs) {
  const auto run = parse_run(kShortest, "x.yaml");
  record::Run expected;
  expected.model.name = "mlp";
  expected.data.source = "synthetic";
  expected.data.batch = 64;
  EXPECT_EQ(run, expected);
  // The values themselves, as the design writes them.
  EXPECT_EQ(run.data.valid, 0.05);
  EXPECT_EQ(run.data.rows, 65536);
  EXPECT_EQ(run.train.steps, 100);
  EXPECT_FALSE(run.train.epochs);
  EXPECT_EQ(run.train.optimizer, (OptimizerConfig{OptimizerKind::kAdamW, 1e-3, {0.9, 0.95}, 1e-8, 0.1, 0}));
  EXPECT_EQ(run.train.clip, 1.0);
  EXPECT_FALSE(run.train.target);
  EXPECT_FALSE(run.train.checkpoint.dir);
  EXPECT_EQ(run.strategy.schedule, PipelineOrder::k1F1B);
  EXPECT_EQ(run.strategy.bucket_mb, 25);
}

TEST(RunFile, WarmupFollowsTheLength) {
  const auto warmup = [](const std::string& train) {
    return parse_run(kShortest + train, "x.yaml").train.schedule.warmup;
  };
  EXPECT_EQ(warmup(""), 10);
  EXPECT_EQ(warmup("train: {steps: 5}"), 0);
  EXPECT_EQ(warmup("train: {steps: 10000}"), 50);
  EXPECT_EQ(warmup("train: {epochs: 2}"), 50);
  EXPECT_EQ(warmup("train: {steps: 40, schedule: {warmup: 40}}"), 40);
  // A shortened run (--set train.steps=5) may end within its warm-up.
  EXPECT_EQ(warmup("train: {steps: 5, schedule: {warmup: 40}}"), 40);
}

TEST(RunFile, EpochsReplaceSteps) {
  const auto run = parse_run(std::string(kShortest) + "train: {epochs: 3}", "x.yaml");
  EXPECT_EQ(run.train.epochs, 3);
  EXPECT_FALSE(run.train.steps);
}

TEST(RunFile, ValidMayBeTheTestSplit) {
  const auto run = parse_run("model: {name: mlp}\ndata: {source: mnist, batch: 64, valid: test}", "x.yaml");
  EXPECT_TRUE(run.data.valid_test);
  EXPECT_EQ(parse_run(to_yaml(run), "y.yaml"), run);
}

TEST(RunFile, OtherSpellingsOfYamlAreRead) {
  const auto block = parse_run(
      "\xEF\xBB\xBFmodel:\r\n  name: mlp\r\n# a comment\r\ndata:\r\n  source: 'synthetic'\r\n"
      "  batch: 64\r\ntrain:\r\nstrategy: {}\r\n",
      "x.yaml");
  EXPECT_EQ(block, parse_run(kShortest, "y.yaml"));
  EXPECT_EQ(parse_run("model: {name: mlp}\ndata: {source: s, batch: +8}\ntrain: {clip: +.5, epochs: null}", "x.yaml")
                .train.clip,
            0.5);
}

TEST(RunFile, WritingAndReadingGivesTheSame) {
  for (const std::string& text :
       {std::string(kComplete), std::string(kShortest),
        std::string(kShortest) + "train: {epochs: 3, target: {metric: train_loss, below: -1}}"}) {
    const auto run = parse_run(text, "x.yaml");
    EXPECT_EQ(parse_run(to_yaml(run), "written"), run) << to_yaml(run);
  }
}

TEST(RunFile, WritingKeepsAwkwardWords) {
  auto run = parse_run(kShortest, "x.yaml");
  const std::vector<std::string> words = {
      "null",   "~",           "true", "1e3",   "-1",          ".5",        "-",           "- a",
      "a: b",   "#x",          "it's", "\"q\"", "back\\slash", "tab\there", "line\nbreak", " lead",
      "trail ", "{a}",         "[b]",  "*star", "&and",        "!bang",     "%per",        "@at",
      "`tick",  "caf\xC3\xA9", "",     "a,b",   "?",           "0x10",      "...",         "---",
      "<<",     "=",           "y"};
  for (std::size_t index = 0; index < words.size(); ++index) run.model.set(fmt::format("w{}", index), words[index]);
  run.model.set("key: with, signs", "1");
  run.data.path = "null";
  run.train.checkpoint.dir = "~";
  EXPECT_EQ(parse_run(to_yaml(run), "written"), run) << to_yaml(run);
}

TEST(RunFile, WritingKeepsEveryBitOfANumber) {
  auto run = parse_run(kShortest, "x.yaml");
  run.train.optimizer.lr = 0.1 + 0.2;
  run.train.optimizer.eps = 5e-324 * 4503599627370497;
  run.train.seed = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(parse_run(to_yaml(run), "written"), run) << to_yaml(run);
}

TEST(RunFile, LoadsAFileAndRefusesWhatIsNone) {
  const std::filesystem::path folder = testing::TempDir();
  const std::filesystem::path path = folder / fmt::format("headway_record_run_{}.yaml", ::getpid());
  std::ofstream(path) << kComplete;
  EXPECT_EQ(load_run(path), parse_run(kComplete, "x.yaml"));
  EXPECT_THROW(load_run(folder / "absent.yaml"), UserError);
  EXPECT_THROW(load_run(folder), UserError);
  std::ofstream(path) << kShortest << '#' << std::string(std::size_t{1} << 20, 'x');
  try {
    load_run(path);
    FAIL() << "a file over 1 MiB was read";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("larger than 1 MiB"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
  }
  EXPECT_THROW(load_run("/dev/zero"), UserError);  // has no end
  std::filesystem::remove(path);
}

TEST(RunFile, CallersCanPointAtASetting) {
  const auto run = parse_run(kComplete, "x.yaml", {"strategy.dp=4"});
  EXPECT_STREQ(error_at(run, "train.precision", "no").what(), "x.yaml:8: train.precision: no");
  EXPECT_STREQ(error_at(run, "strategy.dp", "no").what(), "--set strategy.dp=4: strategy.dp: no");
  const auto other = parse_run(kShortest, "y.yaml");
  EXPECT_STREQ(error_at(other, "data.rows", "no").what(), "y.yaml:2: data.rows: no");
  EXPECT_STREQ(error_at(other, "strategy.dp", "no").what(), "y.yaml: strategy.dp: no");
}

TEST(Override, ReplacesAndAdds) {
  const auto run = parse_run(kComplete, "x.yaml",
                             {"train.steps=400", "train.optimizer.betas=[0.5, 0.6]", "model.layers=2", "model.extra=9",
                              "train.schedule={name: constant, warmup: 3}", "train.steps=40", "data.path="});
  EXPECT_EQ(run.train.steps, 40);
  EXPECT_EQ(run.train.optimizer.betas, (std::array<double, 2>{0.5, 0.6}));
  EXPECT_EQ(run.train.optimizer.lr, 2e-3);
  EXPECT_EQ(run.model.get_int("layers", 0), 2);
  EXPECT_EQ(run.model.get_int("extra", 0), 9);
  EXPECT_EQ(run.train.schedule, (LrSchedule{LrCurve::kConstant, 3, 0.1}));
  EXPECT_FALSE(run.data.path);
}

TEST(Override, MakesMissingSections) {
  const auto run = parse_run(
      "", "x.yaml",
      {"model.name=mlp", "data.source=synthetic", "data.batch=64", "strategy.dp=2", "train.checkpoint.dir=out"});
  EXPECT_EQ(run.strategy.dp, 2);
  EXPECT_EQ(run.train.checkpoint.dir, "out");
}

TEST(Override, OfOneAlternativeRemovesTheFilesOther) {
  const std::string with_epochs = std::string(kShortest) + "train: {epochs: 9, target: {metric: train_loss, below: 2}}";
  const auto run = parse_run(with_epochs, "x.yaml", {"train.steps=40", "train.target.above=3"});
  EXPECT_EQ(run.train.steps, 40);
  EXPECT_FALSE(run.train.epochs);
  EXPECT_EQ(run.train.target, (Target{TargetMetric::kTrainLoss, std::nullopt, 3.0}));
  EXPECT_EQ(parse_run(kComplete, "x.yaml", {"train.epochs=2"}).train.epochs, 2);
  EXPECT_THROW(parse_run(kShortest, "x.yaml", {"train.epochs=2", "train.steps=3"}), UserError);
}

TEST(ModelOptions, AreTypedByTheModel) {
  const ModelConfig model = parse_run(kComplete, "x.yaml").model;
  EXPECT_EQ(model.get_int("layers", 1), 6);
  EXPECT_EQ(model.get_int("heads", 12), 12);
  EXPECT_EQ(model.get_double("dropout", 0, {0, 1}), 0.5);
  EXPECT_FALSE(model.get_bool("tied", true));
  EXPECT_TRUE(model.get_bool("absent", true));
  const std::vector<std::string> known = {"layers", "hidden", "dropout", "tied", "note"};
  EXPECT_NO_THROW(model.require_known(known));
}

}  // namespace
}  // namespace headway::record
