// The memory plan of the standard models: within 10 % of the largest sum of live bytes.
#include <gtest/gtest.h>

#include "backend/cpu/cpu_device.h"
#include "tests/training/batches.h"

namespace headway::tests {
namespace {

TEST(MemoryPlanOfModels, IsWithinTenPercentOfTheLowerBound) {
  const auto device = backend::open_cpu_device(2);
  const auto check = [&](const record::ModelConfig& config, std::int64_t batch, std::int64_t accumulate) {
    const schedule::Schedule schedule =
        runtime::plan_training(builder(config), {.batch = batch, .accumulate = accumulate}, *device);
    EXPECT_LE(static_cast<double>(schedule.arena().value), 1.10 * static_cast<double>(schedule.live_peak.value))
        << config.name << " " << accumulate;
    EXPECT_GE(schedule.arena(), schedule.live_peak);
  };
  check(model_config("mlp", {}), 4096, 1);
  check(model_config("mlp", {}), 4096, 4);
  check(model_config("convnet", {}), 128, 1);
  check(model_config("gpt", {}), 8, 1);
  check(model_config("gpt", {}), 8, 2);
  check(model_config("gpt", {{"layers", "24"}}), 2, 1);
}

// Deep enough, a transformer's activations are most of its memory: selective keeps about two thirds of them, full
// little more than one value a layer.
TEST(MemoryPlanOfModels, ShrinksWithRecomputation) {
  const auto device = backend::open_cpu_device(2);
  const record::ModelConfig config = model_config("gpt", {{"layers", "12"}, {"hidden", "64"}, {"heads", "2"}});
  const auto step_bytes = [&](graph::Recompute recompute) {
    const schedule::Schedule schedule =
        runtime::plan_training(builder(config), {.batch = 16, .passes = {.recompute = recompute}}, *device);
    return static_cast<double>(schedule.slot_size.value);
  };
  const double all = step_bytes(graph::Recompute::kNone);
  const double selective = step_bytes(graph::Recompute::kSelective), full = step_bytes(graph::Recompute::kFull);
  EXPECT_LT(selective, 0.75 * all);
  EXPECT_GT(selective, 0.5 * all);
  EXPECT_LT(full, 0.25 * all);
}

}  // namespace
}  // namespace headway::tests
