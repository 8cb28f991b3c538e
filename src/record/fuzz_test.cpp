// Damaged input either reads or is a UserError; nothing else ever comes out. Deterministic: mutation i is a pure
// function of i.
#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/rng.h"
#include "record/result.h"
#include "record/run.h"

namespace headway::record {
namespace {

// Pieces that mean something to YAML or JSON.
constexpr std::array<std::string_view, 28> kPieces = {
    "{",     "}",  "[",   "]", ":", ": ", ",", "\n", "\n  ", "- ",    "&a ",  "*a", "!!str ", "%YAML",
    "---\n", "? ", "|\n", ">", "#", "\"", "'", "\\", "null", "1e999", ".nan", "-1", "\xFF",   "99999999999999999999"};

std::string mutate(std::string text, std::uint64_t seed) {
  std::uint64_t drawn = 0;
  const auto draw = [&](std::size_t below) {
    return random_bits(seed, 1, 0, drawn++) % static_cast<std::uint32_t>(below);
  };
  const std::size_t edits = 1 + draw(2);
  for (std::size_t edit = 0; edit < edits && !text.empty(); ++edit) {
    const std::size_t at = draw(text.size());
    switch (draw(5)) {
      case 0:
        text[at] = static_cast<char>(draw(256));
        break;
      case 1:
        text.erase(at, 1 + draw(8));
        break;
      case 2:
        text.insert(at, kPieces[draw(kPieces.size())]);
        break;
      case 3:
        text.insert(at, text.substr(draw(text.size()), draw(30)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

struct Outcome {
  int read = 0;
  int refused = 0;
};

template <class Parse>
Outcome fuzz(const std::string& valid, int count, Parse&& parse) {
  Outcome outcome;
  for (int index = 0; index < count; ++index) {
    const std::string text = mutate(valid, static_cast<std::uint64_t>(index));
    try {
      parse(text);
      ++outcome.read;
    } catch (const UserError& error) {
      ++outcome.refused;
      EXPECT_FALSE(std::string_view(error.what()).empty());
    } catch (const std::exception& error) {
      ADD_FAILURE() << "mutation " << index << " threw: " << error.what() << "\n" << text;
    }
  }
  return outcome;
}

Run example_run() {
  return parse_run(
      "model: {name: gpt, layers: 6, note: 'it''s'}\ndata: {source: kjv, batch: 8, path: \"a b\"}\n"
      "train: {epochs: 2, target: {metric: train_loss, below: 2}}\n",
      "valid.yaml");
}

TEST(Fuzz, RunFiles) {
  const Outcome outcome = fuzz(to_yaml(example_run()), 2000, [](const std::string& text) {
    const auto run = parse_run(text, "fuzz.yaml");
    // What was read is valid, so writing and reading must give it again.
    EXPECT_EQ(parse_run(to_yaml(run), "written.yaml"), run) << text;
  });
  // The mutations neither all miss nor all destroy.
  EXPECT_GT(outcome.read, 50);
  EXPECT_GT(outcome.refused, 500);
}

TEST(Fuzz, Overrides) {
  const Outcome outcome = fuzz("train.optimizer.betas=[0.9, 0.95]", 2000, [](const std::string& text) {
    parse_run("model: {name: mlp}\ndata: {source: s, batch: 1}", "x.yaml", {text});
  });
  EXPECT_GT(outcome.read, 10);  // in 33 bytes nearly every edit hits something
  EXPECT_GT(outcome.refused, 500);
}

TEST(Fuzz, Results) {
  Result result;
  result.kind = "bench";
  result.id = make_id();
  result.machine = describe_machine();
  result.metrics.step_ms = StepTime{1, 2, 3, 4, 5, "settled"};
  result.breakdown = {{"matmul", 1, 2.0, 0.5, 10, 20, "compute"}};
  result.samples["step_ms"] = {1, 2, 3};
  result.notes = {"a note"};
  const Outcome outcome = fuzz(to_json(result), 2000, [](const std::string& text) {
    for (const Result& each : results_from_json(text, "fuzz.json")) to_json(each);
  });
  EXPECT_GT(outcome.read, 50);
  EXPECT_GT(outcome.refused, 500);
}

}  // namespace
}  // namespace headway::record
