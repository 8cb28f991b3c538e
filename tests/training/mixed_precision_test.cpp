// Training on bf16 products ends where f32 ends: 200 steps, the loss within 2 %.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "backend/cpu/cpu_device.h"
#include "data/source.h"
#include "tests/training/batches.h"

namespace headway::tests {
namespace {

constexpr std::int64_t kBatch = 64, kSteps = 200;

// Mean loss of the last 20 of 200 steps, every batch once.
double final_loss(const record::ModelConfig& config, const data::Dataset& dataset, DType precision, double rate) {
  const auto device = backend::open_cpu_device(2);
  runtime::SessionOptions options{.batch = kBatch, .passes = {.precision = precision}};
  options.optimizer.clip = 1.0;
  runtime::TrainingSession session(builder(config), options, *device);
  session.initialise();
  data::Loader loader(dataset, data::Sampler(1, dataset.size(), true), {.batch = kBatch});
  std::vector<double> losses;
  for (std::int64_t step = 0; step < kSteps; ++step) losses.push_back(session.step(loader.next(), step, rate).loss);
  EXPECT_LT(losses.back(), losses.front());
  return std::accumulate(losses.end() - 20, losses.end(), 0.0) / 20;
}

TEST(MixedPrecision, EndsWhereF32Ends) {
  const data::Split split = data::open_source({.name = "synthetic", .seed = 1, .rows = 20000, .features = 32});
  const record::ModelConfig config = model_config("mlp", {{"features", "32"}, {"width", "64"}, {"layers", "2"}});
  const double exact = final_loss(config, *split.train, DType::kF32, 2e-3);
  const double mixed = final_loss(config, *split.train, DType::kBF16, 2e-3);
  EXPECT_NE(mixed, exact);
  EXPECT_NEAR(mixed, exact, 0.02 * exact);
  // A planted defect of the size that matters: half the learning rate is seen.
  EXPECT_GT(std::abs(final_loss(config, *split.train, DType::kF32, 1e-3) - exact), 0.02 * exact);
}

}  // namespace
}  // namespace headway::tests
