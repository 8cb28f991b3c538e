#include <gtest/gtest.h>

#include <algorithm>

#include "graph/ops/all.h"
#include "tests/ops/kernel_check.h"

namespace headway::ops_test {
namespace {

struct KernelUnderTest {
  const BackendRow* backend;
  const graph::Op* op;
  DType dtype;
};

std::vector<KernelUnderTest> kernels_under_test() {
  std::vector<KernelUnderTest> all;
  for (const BackendRow& backend : backend_table()) {
    for (const auto& [op, dtype] : backend.kernels()) all.push_back({&backend, op, dtype});
  }
  return all;
}

TEST(KernelTests, EveryOpHasCasesAndEveryKernelATolerance) {
  for (const graph::Op* op : graph::all_ops()) {
    EXPECT_FALSE(cases_of(*op, DType::kF32).empty()) << op->name();
  }
  for (const KernelUnderTest& kernel : kernels_under_test()) {
    EXPECT_TRUE(tolerance_of(*kernel.op, kernel.dtype)) << kernel.op->name() << " " << name_of(kernel.dtype);
    EXPECT_TRUE(std::count(graph::all_ops().begin(), graph::all_ops().end(), kernel.op)) << kernel.op->name();
  }
}

TEST(KernelTests, EveryOpThatIsNotAViewHasACpuKernelInF32) {
  const auto kernels = backend_table()[0].kernels();
  for (const graph::Op* op : graph::all_ops()) {
    const auto rows = std::count(kernels.begin(), kernels.end(), std::pair(op, DType::kF32));
    EXPECT_EQ(rows, op->is_view() ? 0 : 1) << op->name();
  }
}

class Kernels : public testing::TestWithParam<KernelUnderTest> {
 protected:
  std::vector<KernelRun> run_all(const std::vector<OpCase>& cases, int threads) {
    const std::unique_ptr<backend::Device> device = GetParam().backend->open(threads);
    std::vector<KernelRun> runs;
    for (const OpCase& test : cases) runs.push_back(run_case(*GetParam().backend, *device, test));
    return runs;
  }
};

TEST_P(Kernels, MatchTheReferenceForAnyNumberOfThreads) {
  const Tolerance tolerance = tolerance_of(*GetParam().op, GetParam().dtype).value();
  const std::vector<OpCase> cases = cases_of(*GetParam().op, GetParam().dtype);
  EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [](const OpCase& test) { return test.large; }));
  const std::vector<KernelRun> alone = run_all(cases, 1);
  for (std::size_t index = 0; index < cases.size(); ++index) {
    EXPECT_TRUE(values_are_right(cases[index], alone[index], tolerance));
    EXPECT_TRUE(canaries_are_whole(alone[index])) << cases[index].label;
    EXPECT_TRUE(inputs_are_untouched(cases[index], alone[index]));
  }
  const int most = GetParam().backend->most_threads();
  if (most < 2) GTEST_SKIP() << "one core: the bits of 1 and 2 threads cannot be compared here";
  const std::vector<KernelRun> together = run_all(cases, 2);
  for (std::size_t index = 0; index < cases.size(); ++index) {
    EXPECT_TRUE(bits_are_equal(alone[index], together[index])) << cases[index].label;
    EXPECT_TRUE(canaries_are_whole(together[index])) << cases[index].label;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(kernels_under_test()), [](const auto& row) {
  return row.param.backend->name + "_" + std::string(row.param.op->name()) + "_" +
         std::string(name_of(row.param.dtype));
});

}  // namespace
}  // namespace headway::ops_test
