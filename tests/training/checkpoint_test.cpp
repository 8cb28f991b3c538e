// Checkpoints: resumed = never stopped, bit for bit; damage is found; a failed save loses nothing.
#include "runtime/checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backend/cpu/cpu_device.h"
#include "base/error.h"
#include "base/file.h"
#include "data/sampler.h"
#include "runtime/trainer.h"
#include "tests/training/batches.h"

namespace headway::tests {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("headway_checkpoint_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Trains `model` for `steps` steps in all, saving every 3, from the newest checkpoint when `resume`.
  runtime::TrainingReport train(const SmallModel& model, std::int64_t steps, bool resume,
                                const std::string& more = "") const {
    const std::string yaml = "model: {name: " + model.name + options(model) + "}\n" +
                             "data: {source: synthetic, batch: 8}\n"
                             "train:\n  steps: " +
                             std::to_string(steps) +
                             "\n  accumulate: 2\n  schedule: {name: constant, warmup: 2}\n"
                             "  checkpoint: {dir: '" +
                             folder_.string() + "', every: 3, keep: 2}\n" + more;
    data::Split split;
    split.train = std::make_unique<SmallDataset>(*model.dataset);
    const auto device = backend::open_cpu_device(2);
    runtime::Trainer trainer(
        {.run = record::parse_run(yaml, "test.yaml"), .data = &split, .build = builder(model.config), .resume = resume},
        *device);
    return trainer.train();
  }

  static std::string options(const SmallModel& model) {
    std::string text;
    for (const record::Option& option : model.config.options) text += ", " + option.key + ": " + option.text;
    return text;
  }

  fs::path newest() const { return *runtime::CheckpointFolder(folder_, 2).newest(); }

  fs::path folder_;
};

TEST_F(Checkpoints, AResumedRunEqualsOneNeverStopped) {
  for (const SmallModel& model : small_models(30)) {
    fs::remove_all(folder_);
    const std::vector<double> whole = train(model, 10, false).losses;
    fs::remove_all(folder_);
    train(model, 6, false);
    const runtime::TrainingReport rest = train(model, 10, true);
    EXPECT_EQ(rest.first_step, 6);
    EXPECT_EQ(rest.losses, std::vector<double>(whole.begin() + 6, whole.end())) << model.name;
  }
}

TEST_F(Checkpoints, KeepOnlyTheNewest) {
  train(small_models(30)[0], 10, false);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"README", "step-00000009", "step-00000010"}));
}

TEST_F(Checkpoints, EveryKindOfDamageIsFoundAndNamed) {
  const SmallModel model = small_models(30)[0];
  train(model, 6, false);
  const fs::path state = newest() / "state.safetensors";
  const std::string good = read_file(state);
  const auto expect_error = [&](const std::string& content, const char* what) {
    std::ofstream(state, std::ios::binary) << content;
    try {
      train(model, 10, true);
      FAIL() << what << ": accepted";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("state.safetensors"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("to go on from an older one"), std::string::npos) << error.what();
    }
  };
  std::string flipped = good;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  expect_error(flipped, "one bit flipped");
  expect_error(good.substr(0, good.size() - 4), "cut short");
  expect_error(good.substr(0, 5), "cut in the header");
  expect_error("", "empty");
  expect_error(good + "x", "a byte too many");
  std::ofstream(state, std::ios::binary) << good;
  EXPECT_EQ(train(model, 10, true).first_step, 6);
}

TEST_F(Checkpoints, AnotherTrainingIsRefused) {
  const SmallModel model = small_models(30)[0];
  train(model, 6, false);
  EXPECT_THROW(train(model, 10, true, "  seed: 2\n"), UserError);
  SmallModel wider = model;
  wider.config.set("width", "32");
  EXPECT_THROW(train(wider, 10, true), UserError);
}

// A folder that a killed writer left behind is no checkpoint, and the next save removes it.
TEST_F(Checkpoints, LeftoversOfAKilledWriterAreIgnored) {
  const SmallModel model = small_models(30)[0];
  train(model, 6, false);
  fs::create_directories(folder_ / "writing-9-1");
  std::ofstream(folder_ / "writing-9-1" / "model.safetensors") << "half";
  EXPECT_EQ(train(model, 9, true).first_step, 6);
  EXPECT_FALSE(fs::exists(folder_ / "writing-9-1"));
}

TEST_F(Checkpoints, AFailedSaveKeepsTheOldOnes) {
  const SmallModel model = small_models(30)[0];
  train(model, 6, false);
  const fs::path before = newest();
  // A file where the next checkpoint's folder must go makes the save fail even for root.
  std::ofstream(folder_ / ("writing-9-" + std::to_string(::getpid()))) << "in the way";
  EXPECT_THROW(train(model, 9, true), EnvironmentError);
  EXPECT_EQ(newest(), before);
  fs::remove(folder_ / ("writing-9-" + std::to_string(::getpid())));
  EXPECT_EQ(train(model, 9, true).first_step, 6);
}

}  // namespace
}  // namespace headway::tests
