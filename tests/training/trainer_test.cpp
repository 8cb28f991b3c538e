// The trainer: evaluation is exact for any number of samples, targets stop it, a loss that is not finite names the
// tensor.
#include "runtime/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/cpu_device.h"
#include "base/error.h"
#include "runtime/learning_rate.h"
#include "tests/training/batches.h"

namespace headway::tests {
namespace {

runtime::TrainingReport train(const SmallModel& model, const std::string& train_section, std::int64_t valid = 0,
                              trace::Timeline* timeline = nullptr) {
  const std::string yaml =
      "model: {name: " + model.name + "}\ndata: {source: synthetic, batch: 8}\ntrain: {" + train_section + "}\n";
  data::Split split;
  split.train = std::make_unique<SmallDataset>(*model.dataset);
  if (valid > 0) split.valid = std::make_unique<SmallDataset>(model.dataset->fields(), valid, 10);
  const auto device = backend::open_cpu_device(2);
  runtime::Trainer trainer({.run = record::parse_run(yaml, "test.yaml"),
                            .data = &split,
                            .build = builder(model.config),
                            .timeline = timeline},
                           *device);
  return trainer.train();
}

// 21 samples in batches of 8: two whole ones and a rest of 5. The mean must be that of 21 single samples.
TEST(Trainer, EvaluationIsExactForAnyNumberOfSamples) {
  for (SmallModel& model : small_models(21)) {
    // How many tokens an expert takes depends on the batch; with room for all it does not matter.
    if (model.name == "moe") model.config.set("capacity_factor", "100");
    const auto device = backend::open_cpu_device(2);
    runtime::TrainingSession session(builder(model.config), {.batch = 8}, *device);
    session.initialise();
    const runtime::Evaluation whole = session.evaluate(*model.dataset, 21, 1);
    runtime::TrainingSession single(builder(model.config), {.batch = 1}, *device);
    single.initialise();
    const runtime::Evaluation one_by_one = single.evaluate(*model.dataset, 21, 1);
    EXPECT_NEAR(whole.loss, one_by_one.loss, 1e-5 * one_by_one.loss) << model.name;
    EXPECT_EQ(whole.accuracy, one_by_one.accuracy) << model.name;
  }
}

// Classifiers so small that the evaluation does not fit over the training step's memory.
TEST(Trainer, EvaluationOfATinyModelGetsMemoryOfItsOwn) {
  SmallModel tiny = small_models(30)[1];
  for (const char* key : {"conv1", "conv2", "conv3", "hidden"}) tiny.config.set(key, "1");
  EXPECT_EQ(train(tiny, "steps: 3, evaluate: {every: 1, batches: 0}", 11).evaluations.size(), 3U);
}

TEST(Trainer, EvaluationLeavesTrainingAlone) {
  const SmallModel model = small_models(30)[2];
  EXPECT_EQ(train(model, "steps: 6, evaluate: {every: 2, batches: 0}", 11).losses, train(model, "steps: 6").losses);
}

TEST(Trainer, StopsAtATarget) {
  const runtime::TrainingReport report =
      train(small_models(30)[0], "steps: 50, target: {metric: train_loss, below: 1.0e+6}");
  EXPECT_EQ(report.steps, 1);
  ASSERT_TRUE(report.target_reached);
  EXPECT_NE(report.target_reached->find("train_loss"), std::string::npos);
}

TEST(Trainer, ALossThatIsNotFiniteNamesStepAndTensor) {
  try {
    train(small_models(30)[0], "steps: 200, clip: 0, optimizer: {name: sgd, lr: 1.0e+30}, schedule: {warmup: 0}");
    FAIL() << "did not diverge";
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("step "), std::string::npos) << message;
    EXPECT_TRUE(message.find("parameter ") != std::string::npos || message.find("layers.") != std::string::npos)
        << message;
  }
}

TEST(Trainer, RefusesWhatItCannotDo) {
  EXPECT_THROW(train(small_models(30)[0], "accumulate: 3"), UserError);
}

TEST(Trainer, RecordsWarmStepsAsATimeline) {
  trace::Timeline timeline;
  const runtime::TrainingReport report = train(small_models(30)[0], "steps: 40", 0, &timeline);
  EXPECT_EQ(report.traced_steps, 10);
  EXPECT_EQ(timeline.spans.size() % 10, 0U);
  EXPECT_GT(timeline.length().value, 0);
}

TEST(LearningRate, RisesThenFallsAsTheCurveSays) {
  record::LrSchedule schedule;
  schedule.name = record::LrCurve::kCosine;
  schedule.warmup = 10;
  schedule.final = 0.1;
  EXPECT_DOUBLE_EQ(runtime::learning_rate(schedule, 1.0, 0, 110), 0.1);
  EXPECT_DOUBLE_EQ(runtime::learning_rate(schedule, 1.0, 9, 110), 1.0);
  EXPECT_DOUBLE_EQ(runtime::learning_rate(schedule, 1.0, 10, 110), 1.0);
  EXPECT_NEAR(runtime::learning_rate(schedule, 1.0, 109, 110), 0.1, 1e-12);
  schedule.name = record::LrCurve::kLinear;
  EXPECT_NEAR(runtime::learning_rate(schedule, 1.0, 109, 110), 0.1, 1e-12);
  schedule.name = record::LrCurve::kConstant;
  EXPECT_DOUBLE_EQ(runtime::learning_rate(schedule, 1.0, 50, 110), 1.0);
}

}  // namespace
}  // namespace headway::tests
