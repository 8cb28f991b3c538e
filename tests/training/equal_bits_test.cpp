// Equal bits: same seed, same run; 1 thread = 2 threads; with and without prefetch.
#include <gtest/gtest.h>

#include <set>

#include "backend/cpu/cpu_device.h"
#include "base/environment.h"
#include "data/sampler.h"
#include "graph/passes/pass.h"
#include "tests/training/batches.h"

namespace headway::tests {
namespace {

struct Setup {
  int threads = 2;
  std::uint64_t seed = 1;
  std::int64_t depth = 2;
  std::vector<std::string> without_passes = {};
  graph::PassOptions passes = {};
};

// The losses of 12 steps, micro-batches of 7 samples: odd, so that tiles are ragged.
std::vector<double> losses_of(const SmallModel& model, const Setup& setup) {
  const auto device = backend::open_cpu_device(setup.threads);
  runtime::SessionOptions options{
      .batch = 14, .accumulate = 2, .seed = setup.seed, .without_passes = setup.without_passes, .passes = setup.passes};
  options.optimizer.clip = 1.0;
  runtime::TrainingSession session(builder(model.config), options, *device);
  session.initialise();
  data::Loader loader(*model.dataset, data::Sampler(setup.seed, model.dataset->size(), true),
                      {.batch = 14, .depth = setup.depth});
  std::vector<double> losses;
  for (std::int64_t step = 0; step < 12; ++step) losses.push_back(session.step(loader.next(), step, 1e-2).loss);
  return losses;
}

class EqualBits : public testing::TestWithParam<SmallModel> {};

TEST_P(EqualBits, SameSeedSameRun) {
  EXPECT_EQ(losses_of(GetParam(), {}), losses_of(GetParam(), {}));
}

TEST_P(EqualBits, OneThreadIsTwoThreads) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one core";
  EXPECT_EQ(losses_of(GetParam(), {.threads = 1}), losses_of(GetParam(), {.threads = 2}));
}

TEST_P(EqualBits, PrefetchChangesNothing) {
  EXPECT_EQ(losses_of(GetParam(), {.depth = 0}), losses_of(GetParam(), {.depth = 3}));
}

// Would fail if the seed did not reach the initialisation, the order or the dropout: the equalities above would be
// empty.
TEST_P(EqualBits, AnotherSeedIsAnotherRun) {
  EXPECT_NE(losses_of(GetParam(), {.seed = 1}), losses_of(GetParam(), {.seed = 2}));
}

// What is made again is the same to the last bit: dropout, running statistics and micro-batches included.
TEST_P(EqualBits, RecomputationChangesNothing) {
  const std::vector<double> kept = losses_of(GetParam(), {});
  EXPECT_EQ(losses_of(GetParam(), {.passes = {.recompute = graph::Recompute::kSelective}}), kept);
  EXPECT_EQ(losses_of(GetParam(), {.passes = {.recompute = graph::Recompute::kFull}}), kept);
}

// Products on bf16 are other numbers, but the same for any number of threads, with and without recomputation; and
// close.
TEST_P(EqualBits, MixedPrecisionIsDeterministicAndClose) {
  const graph::PassOptions mixed{.precision = DType::kBF16}, again{DType::kBF16, graph::Recompute::kFull};
  const std::vector<double> losses = losses_of(GetParam(), {.passes = mixed}), exact = losses_of(GetParam(), {});
  EXPECT_EQ(losses_of(GetParam(), {.threads = 1, .passes = mixed}), losses);
  EXPECT_EQ(losses_of(GetParam(), {.passes = again}), losses);
  const std::set<std::string> without_large_products = {"mlp", "convnet", "resnet", "deeplob", "lstm", "tcn"};
  EXPECT_EQ(losses == exact, without_large_products.contains(GetParam().name));
  for (std::size_t step = 0; step < losses.size(); ++step) {
    EXPECT_NEAR(losses[step], exact[step], 0.02 * exact[step]) << step;
  }
}

// Fusion may change the last bits, not the result.
TEST_P(EqualBits, PassesKeepTheLosses) {
  std::vector<std::string> all;
  for (const graph::Pass& pass : graph::all_passes()) all.emplace_back(pass.name);
  const std::vector<double> fused = losses_of(GetParam(), {}), plain = losses_of(GetParam(), {.without_passes = all});
  for (std::size_t step = 0; step < fused.size(); ++step)
    EXPECT_NEAR(fused[step], plain[step], 2e-4 * plain[step]) << step;
}

INSTANTIATE_TEST_SUITE_P(All, EqualBits, testing::ValuesIn(small_models(40)),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace headway::tests
