// What a user reads when a run file is wrong: one case per kind of fault, the message compared as a whole.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "record/run.h"

namespace headway::record {
namespace {

constexpr const char* kHead = "model: {name: mlp}\ndata: {source: synthetic, batch: 64}\n";

std::string message(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_run(text, "x.yaml", overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// The message about a `train` section that starts on line 3.
std::string train(const std::string& body) {
  return message(kHead + ("train: " + body));
}

TEST(RunError, UnknownKeyNamesTheNearest) {
  EXPECT_EQ(train("\n  steps: 5\n  optimizer: {weigth_decay: 1}"),
            "x.yaml:5: train.optimizer: unknown key 'weigth_decay'; did you mean 'weight_decay'?");
  EXPECT_EQ(train("{setps: 5}"), "x.yaml:3: train: unknown key 'setps'; did you mean 'steps'?");
  EXPECT_EQ(message(std::string(kHead) + "strategie: {}"),
            "x.yaml:3: unknown key 'strategie'; did you mean 'strategy'?");
  EXPECT_EQ(message(std::string(kHead) + "qqqqqqqqqq: {}"),
            "x.yaml:3: unknown key 'qqqqqqqqqq'; known: model, data, train, strategy");
  EXPECT_EQ(message(std::string(kHead) + "steps: 40"), "x.yaml:3: unknown key 'steps'; did you mean 'train.steps'?");
}

TEST(RunError, WrongTypes) {
  EXPECT_EQ(train("{steps: abc}"), "x.yaml:3: train.steps: 'abc' is not a whole number");
  EXPECT_EQ(train("{steps: 1e3}"), "x.yaml:3: train.steps: '1e3' is not a whole number");
  EXPECT_EQ(train("{steps: 4.0}"), "x.yaml:3: train.steps: '4.0' is not a whole number");
  EXPECT_EQ(train("{steps: +-4}"), "x.yaml:3: train.steps: '+-4' is not a whole number");
  EXPECT_EQ(train("{steps: [4]}"), "x.yaml:3: train.steps: is a list; a whole number is needed");
  EXPECT_EQ(train("{seed: }"), "x.yaml:3: train.seed: is empty; a whole number is needed");
  EXPECT_EQ(train("{clip: much}"), "x.yaml:3: train.clip: 'much' is not a number");
  EXPECT_EQ(train("{clip: 1.0x}"), "x.yaml:3: train.clip: '1.0x' is not a number");
  EXPECT_EQ(train("{clip: {a: 1}}"), "x.yaml:3: train.clip: is a section; a number is needed");
  EXPECT_EQ(train("{deterministic: yes}"), "x.yaml:3: train.deterministic: 'yes' is neither true nor false");
  EXPECT_EQ(train("{precision: bf61}"), "x.yaml:3: train.precision: 'bf61' is not known; did you mean 'bf16'?");
  EXPECT_EQ(train("{optimizer: adam}"),
            "x.yaml:3: train.optimizer: 'adam' stands where a section is needed, such as {name: ...}");
  EXPECT_EQ(train("{optimizer: {name: lion}}"),
            "x.yaml:3: train.optimizer.name: 'lion' is not known; known: adamw, sgd");
  EXPECT_EQ(train("{optimizer: {betas: 0.9}}"),
            "x.yaml:3: train.optimizer.betas: a list of two numbers is needed, such as [0.9, 0.95]");
  EXPECT_EQ(train("{optimizer: {betas: [0.9]}}"),
            "x.yaml:3: train.optimizer.betas: a list of two numbers is needed, such as [0.9, 0.95]");
  EXPECT_EQ(train("{optimizer: {betas: [0.9, x]}}"), "x.yaml:3: train.optimizer.betas[1]: 'x' is not a number");
  EXPECT_EQ(train("{checkpoint: {dir: ''}}"), "x.yaml:3: train.checkpoint.dir: is empty; a word is needed");
  EXPECT_EQ(message("model: {name: mlp}\ndata: {source: s, batch: 1, valid: tset}"),
            "x.yaml:2: data.valid: 'tset' is neither a share of the samples in [0, 1) nor the word test");
}

TEST(RunError, OutOfRange) {
  EXPECT_EQ(train("{steps: 0}"), "x.yaml:3: train.steps: '0' is too small; it must be at least 1");
  EXPECT_EQ(train("{epochs: -1}"), "x.yaml:3: train.epochs: '-1' is too small; it must be at least 1");
  EXPECT_EQ(train("{accumulate: 0}"), "x.yaml:3: train.accumulate: '0' is too small; it must be at least 1");
  EXPECT_EQ(train("{seed: 99999999999999999999}"),
            "x.yaml:3: train.seed: '99999999999999999999' is too large; it must be at most 9223372036854775807");
  EXPECT_EQ(train("{seed: -99999999999999999999}"),
            "x.yaml:3: train.seed: '-99999999999999999999' is too small; it must be at least 0");
  EXPECT_EQ(train("{steps: 2000000000000}"),
            "x.yaml:3: train.steps: '2000000000000' is too large; it must be at most 1000000000000");
  EXPECT_EQ(train("{optimizer: {lr: -1}}"),
            "x.yaml:3: train.optimizer.lr: '-1' is out of range; it must be at least 0");
  EXPECT_EQ(train("{optimizer: {lr: 1e999}}"),
            "x.yaml:3: train.optimizer.lr: '1e999' does not fit a 64-bit floating-point number");
  EXPECT_EQ(train("{optimizer: {eps: 0}}"),
            "x.yaml:3: train.optimizer.eps: '0' is out of range; it must be greater than 0");
  EXPECT_EQ(train("{optimizer: {betas: [0.9, 1]}}"),
            "x.yaml:3: train.optimizer.betas[1]: '1' is out of range; it must be in [0, 1)");
  EXPECT_EQ(train("{optimizer: {betas: [-0.1, 0.5]}}"),
            "x.yaml:3: train.optimizer.betas[0]: '-0.1' is out of range; it must be in [0, 1)");
  EXPECT_EQ(train("{optimizer: {momentum: 1}}"),
            "x.yaml:3: train.optimizer.momentum: '1' is out of range; it must be in [0, 1)");
  EXPECT_EQ(train("{schedule: {final: 1.5}}"),
            "x.yaml:3: train.schedule.final: '1.5' is out of range; it must be in [0, 1]");
  EXPECT_EQ(train("{checkpoint: {keep: 0}}"),
            "x.yaml:3: train.checkpoint.keep: '0' is too small; it must be at least 1");
  EXPECT_EQ(message("model: {name: mlp}\ndata: {source: s, batch: 0}"),
            "x.yaml:2: data.batch: '0' is too small; it must be at least 1");
  EXPECT_EQ(message("model: {name: mlp}\ndata: {source: s, batch: 1, valid: 1}"),
            "x.yaml:2: data.valid: '1' is out of range; it must be in [0, 1)");
  for (const char* key : {"dp", "tp", "pp", "cp", "ep", "interleave", "micro_batches"}) {
    EXPECT_EQ(message(fmt::format("{}strategy: {{{}: 0}}", kHead, key)),
              fmt::format("x.yaml:3: strategy.{}: '0' is too small; it must be at least 1", key));
  }
  EXPECT_EQ(message(std::string(kHead) + "strategy: {zero: 4}"),
            "x.yaml:3: strategy.zero: '4' is too large; it must be at most 3");
  EXPECT_EQ(message(std::string(kHead) + "strategy: {bucket_mb: 0}"),
            "x.yaml:3: strategy.bucket_mb: '0' is out of range; it must be greater than 0");
}

TEST(RunError, NotFinite) {
  for (const char* value : {".nan", "nan", ".NaN", ".inf", "-.inf", "inf", "Infinity", "-inf"}) {
    EXPECT_EQ(train(fmt::format("{{clip: {}}}", value)),
              fmt::format("x.yaml:3: train.clip: '{}' is not a finite number", value));
  }
}

TEST(RunError, SettingsThatContradict) {
  EXPECT_EQ(train("\n  steps: 5\n  epochs: 1"), "x.yaml:5: train.epochs: steps is given too; keep one of them");
  EXPECT_EQ(train("{target: {metric: train_loss}}"),
            "x.yaml:3: train.target: has no limit; give below or above (example: below: 2.0)");
  EXPECT_EQ(train("{target: {below: 1, above: 2}}"),
            "x.yaml:3: train.target.above: below is given too; keep one of them");
  EXPECT_EQ(
      message("model: {name: mlp}\ndata: {source: s, batch: 1, valid: 0}\ntrain: {target: {below: 1}}"),
      "x.yaml:3: train.target.metric: valid_loss needs validation samples, but data.valid is 0; give a share such "
      "as 0.05, or metric: train_loss");
}

TEST(RunError, MissingParts) {
  EXPECT_EQ(message(""),
            "x.yaml: is empty; a run file has at least model: {name: ...} and data: {source: ..., batch: ...}");
  EXPECT_EQ(message("# nothing\n---\n"), message(""));
  EXPECT_EQ(message("data: {source: s, batch: 1}"), "x.yaml: model: is missing; write model: {name: mlp}");
  EXPECT_EQ(message("\nmodel:\n"), "x.yaml:2: model: is missing; write model: {name: mlp}");
  EXPECT_EQ(message("model: {layers: 3}\n"), "x.yaml:1: model.name: is missing; write model: {name: mlp}");
  EXPECT_EQ(message("model: gpt"), "x.yaml:1: model: 'gpt' stands where a section is needed; write model: {name: mlp}");
  EXPECT_EQ(message("model: {name: mlp}"), "x.yaml: data: is missing; write data: {source: synthetic, batch: 64}");
  EXPECT_EQ(message("model: {name: mlp}\ndata: {batch: 1}"),
            "x.yaml:2: data.source: is missing; it has no default (example: source: synthetic)");
  EXPECT_EQ(message("model: {name: mlp}\ndata: {source: s}"),
            "x.yaml:2: data.batch: is missing; it has no default (example: batch: 64)");
  EXPECT_EQ(message("- a\n- b"), "x.yaml:1: a list stands where a section is needed, such as {model: ...}");
}

TEST(RunError, KeysGivenTwice) {
  EXPECT_EQ(train("\n  seed: 1\n  clip: 2\n  seed: 3"), "x.yaml:6: key 'seed' is given twice (first on line 4)");
  EXPECT_EQ(message("model: {name: a, name: b}"), "x.yaml:1: key 'name' is given twice (first on line 1)");
}

TEST(RunError, YamlThatIsNone) {
  EXPECT_EQ(train("{steps: 5"), "x.yaml:3: not valid YAML: end of map flow not found");
  EXPECT_EQ(message("model: {name: mlp}\n\tdata: 1"), message("model: {name: mlp}\n\tdata: 1"));
  EXPECT_EQ(message("model: {name: mlp}\ndata: \"open"), "x.yaml:2: not valid YAML: illegal EOF in scalar");
  EXPECT_EQ(message("model: {name: mlp}\n---\ndata: 1\n"), "x.yaml:2: a second document begins here; a file holds one");
}

TEST(RunError, PartsOfYamlThatAreRefused) {
  EXPECT_EQ(message("model: &a {name: mlp}\ndata: *a"),
            "x.yaml:2: aliases (*name) are not supported here; write the value out");
  EXPECT_EQ(message("model: !!map {name: mlp}"), "x.yaml:1: tags (!name) are not supported here");
  EXPECT_EQ(message("model: {name: !secret mlp}"), "x.yaml:1: tags (!name) are not supported here");
  EXPECT_EQ(message("[a, b]: 1"), "x.yaml:1: a key must be a word, not a list or a section; is a bracket left open?");
  EXPECT_EQ(message("{~: 1}"), "x.yaml:1: a key has no name");
  EXPECT_EQ(message("model: {name: mlp, sizes: [1, 2]}"), "x.yaml:1: model.sizes: is a list; a value is needed");
}

TEST(RunError, BytesThatAreNotText) {
  EXPECT_EQ(message("model: {name: mlp}\ndata: {source: \xFF}"),
            "x.yaml:2: byte 0xff is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(message("model: \xC0\xAF"), "x.yaml:1: byte 0xc0 is not UTF-8; save the file as UTF-8");      // overlong
  EXPECT_EQ(message("model: \xE0\x80\xAF"), "x.yaml:1: byte 0xe0 is not UTF-8; save the file as UTF-8");  // overlong
  EXPECT_EQ(message("model: \xF0\x80\x80\xAF"), "x.yaml:1: byte 0xf0 is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(message("model: \xED\xA0\x80"), "x.yaml:1: byte 0xed is not UTF-8; save the file as UTF-8");  // surrogate
  EXPECT_EQ(message("model: \xF4\x90\x80\x80"), "x.yaml:1: byte 0xf4 is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(message("model: caf\xC3"), "x.yaml:1: byte 0xc3 is not UTF-8; save the file as UTF-8");  // cut short
  EXPECT_EQ(message(std::string("a\0b", 3)), "x.yaml:1: control character 0x00; a text file is needed");
}

TEST(RunError, OverridesNameThemselves) {
  EXPECT_EQ(message(kHead, {"train.stpes=3"}),
            "--set train.stpes=3: train: unknown key 'stpes'; did you mean 'steps'?");
  EXPECT_EQ(message(kHead, {"tarin.steps=3"}), "--set tarin.steps=3: unknown key 'tarin'; did you mean 'train'?");
  EXPECT_EQ(message(kHead, {"lr=3"}), "--set lr=3: unknown key 'lr'; did you mean 'train.optimizer.lr'?");
  EXPECT_EQ(message(kHead, {"train.steps=abc"}), "--set train.steps=abc: train.steps: 'abc' is not a whole number");
  EXPECT_EQ(message(kHead, {"train.steps"}), "--set train.steps: needs a value: --set section.key=value");
  EXPECT_EQ(message(kHead, {"train..steps=1"}), "--set train..steps=1: a key is empty; write --set section.key=value");
  EXPECT_EQ(message(kHead, {"=1"}), "--set =1: a key is empty; write --set section.key=value");
  EXPECT_EQ(message(kHead, {"train.=1"}), "--set train.=1: a key is empty; write --set section.key=value");
  EXPECT_EQ(message(kHead, {"data.batch.x=1"}), "--set data.batch.x=1: data.batch: is '64' and has no key 'x'");
  EXPECT_EQ(message(kHead, {"train={steps: 1, steps: 2}"}),
            "--set train={steps: 1, steps: 2}: key 'steps' is given twice");
  EXPECT_EQ(message(kHead, {"train.optimizer.betas=[0.9"}),
            "--set train.optimizer.betas=[0.9: a key must be a word, not a list or a section; is a bracket left open?");
  EXPECT_EQ(message(kHead, {"train=5"}),
            "--set train=5: train: '5' stands where a section is needed, such as {steps: ...}");
}

TEST(RunError, ModelOptions) {
  const ModelConfig model =
      parse_run("model:\n  name: gpt\n  layesr: 6\n  hidden: wide\n  tied: 2\n  heads: 0\ndata: {source: s, batch: 1}",
                "x.yaml")
          .model;
  const auto caught = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::vector<std::string> known = {"layers", "hidden", "tied", "heads"};
  EXPECT_EQ(caught([&] { model.require_known(known); }),
            "x.yaml:3: model: unknown key 'layesr'; did you mean 'layers'?");
  EXPECT_EQ(caught([&] { model.get_int("hidden", 1); }), "x.yaml:4: model.hidden: 'wide' is not a whole number");
  EXPECT_EQ(caught([&] { model.get_bool("tied", false); }), "x.yaml:5: model.tied: '2' is neither true nor false");
  EXPECT_EQ(caught([&] { model.get_int("heads", 1); }),
            "x.yaml:6: model.heads: '0' is too small; it must be at least 1");
  EXPECT_EQ(caught([&] { model.get_choice("hidden", "", known); }),
            "x.yaml:4: model.hidden: 'wide' is not known; did you mean 'tied'?");
  EXPECT_EQ(model.get_int("heads", 1, {0}), 0);
}

TEST(RunError, HostileSizesEndSoonAndInAnError) {
  const std::string deep(500'000, '[');
  EXPECT_NE(message("model: " + deep), "no error");
  EXPECT_EQ(message("model:\n  [\n" + std::string(100, '[') + std::string(100, ']') + "]"),
            "x.yaml:3: nested deeper than 16 levels");
  std::string blocks = "a:\n";
  for (int level = 1; level < 1000; ++level) blocks += std::string(static_cast<std::size_t>(level), ' ') + "a:\n";
  EXPECT_NE(message(blocks).find("nested deeper than 16 levels"), std::string::npos);
  std::string keys = "model: {name: mlp";
  for (int key = 0; key < 50'000; ++key) keys += fmt::format(", k{}: 1", key);
  EXPECT_EQ(message(keys + "}"), "x.yaml:1: more than 1000 keys in a section");
  const std::string long_key(900'000, 'k');
  EXPECT_LT(message(long_key + ": 1").size(), 300U);
  EXPECT_LT(message(kHead + ("train: {steps: " + long_key + "}")).size(), 300U);
  std::string bomb = "a: &a [1,1]\n";
  for (char name = 'b'; name < 'z'; ++name) {
    bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1}]\n", name, static_cast<char>(name - 1));
  }
  EXPECT_EQ(message(bomb), "x.yaml:2: aliases (*name) are not supported here; write the value out");
  EXPECT_EQ(message(std::string((std::size_t{1} << 20) + 1, ' ')),
            "x.yaml: is larger than 1 MiB, so it is no run file");
}

}  // namespace
}  // namespace headway::record
