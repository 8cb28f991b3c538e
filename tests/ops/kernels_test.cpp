#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/ops/all.h"
#include "tests/ops/encode.h"
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
    EXPECT_FALSE(small_cases_of(*op).empty()) << op->name();
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

// Corrupts one output of a good run; whether that changed anything beyond the tolerance.
bool corrupt(const OpCase& test, const Tolerance& tolerance, Guarded& output, std::size_t index,
             const std::function<void(Tensor&)>& defect) {
  const DType dtype = test.output_types[index].dtype;
  const Tensor before = decode(dtype, output.operand());
  Tensor after = before;
  defect(after);
  bool changed = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double allowed = is_floating(dtype) ? tolerance.absolute + tolerance.relative * std::fabs(before[i]) : 0;
    changed = changed || !(std::fabs(after[i] - before[i]) <= 4 * allowed);
  }
  const std::vector<std::byte> bytes = encode(dtype, after);
  std::copy(bytes.begin(), bytes.end(), output.operand().begin());
  return changed;
}

TEST_P(Kernels, PlantedDefectsAreSeen) {
  const Tolerance tolerance = tolerance_of(*GetParam().op, GetParam().dtype).value();
  std::vector<OpCase> cases = cases_of(*GetParam().op, GetParam().dtype);
  std::erase_if(cases, [](const OpCase& test) { return !test.large; });
  cases.erase(cases.begin(), cases.end() - 1);
  const OpCase& test = cases[0];
  const KernelRun good = run_all(cases, 1)[0];
  ASSERT_TRUE(values_are_right(test, good, tolerance));

  const std::vector<std::function<void(Tensor&)>> defects = {
      [](Tensor& values) {  // every element 1 % off
        for (double& value : values) value *= 1.01;
      },
      [](Tensor& values) {  // a block of rows left out
        const auto size = static_cast<std::ptrdiff_t>(values.size());
        std::fill(values.begin() + size / 2, values.begin() + (size + 1) * 3 / 4, 0.0);
        values.back() = 0;
      },
      [](Tensor& values) {  // one element never written
        values[values.size() / 3] = std::numeric_limits<double>::quiet_NaN();
      },
  };
  for (const auto& defect : defects) {
    int planted = 0;
    for (std::size_t index = 0; index < good.outputs.size(); ++index) {
      if (&defect != &defects[1] && !is_floating(test.output_types[index].dtype)) continue;
      KernelRun bad = good;
      if (!corrupt(test, tolerance, bad.outputs[index], index, defect)) continue;
      EXPECT_FALSE(values_are_right(test, bad, tolerance)) << test.label << " output " << index;
      EXPECT_FALSE(bits_are_equal(good, bad)) << test.label << " output " << index;
      ++planted;
    }
    EXPECT_GT(planted, 0) << test.label;
  }
  for (std::size_t index = 0; index < good.outputs.size(); ++index) {
    KernelRun bad = good;
    bad.outputs[index].operand().back() ^= std::byte{1};
    EXPECT_FALSE(bits_are_equal(good, bad)) << "one bit of output " << index;
    // One float past the end, and the byte before the beginning.
    bad = good;
    const float stray = 1.5F;
    std::memcpy(bad.outputs[index].operand().data() + bad.outputs[index].operand().size(), &stray, sizeof stray);
    EXPECT_FALSE(canaries_are_whole(bad)) << "past output " << index;
    bad = good;
    bad.outputs[index].bytes[Guarded::kGuard - 1] = std::byte{0};
    EXPECT_FALSE(canaries_are_whole(bad)) << "before output " << index;
  }
  KernelRun bad = good;
  bad.workspace.bytes[bad.workspace.bytes.size() - Guarded::kGuard] = std::byte{0};
  EXPECT_FALSE(canaries_are_whole(bad)) << "past the workspace";
  for (std::size_t index = 0; index < good.inputs.size(); ++index) {
    bad = good;
    bad.inputs[index].operand().front() ^= std::byte{1};
    const auto aliases = test.op->aliases(test.attributes, static_cast<std::int64_t>(test.inputs.size()));
    const bool in_place = std::any_of(aliases.begin(), aliases.end(), [&](const graph::Alias& alias) {
      return alias.input == static_cast<std::int64_t>(index);
    });
    EXPECT_EQ(static_cast<bool>(inputs_are_untouched(test, bad)), in_place) << "input " << index;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(kernels_under_test()), [](const auto& row) {
  return row.param.backend->name + "_" + std::string(row.param.op->name()) + "_" +
         std::string(name_of(row.param.dtype));
});

}  // namespace
}  // namespace headway::ops_test
