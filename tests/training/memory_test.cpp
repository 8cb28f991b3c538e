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

}  // namespace
}  // namespace headway::tests
