// Runs one case on a device between canary bytes, and judges what came out.
//
// Running and judging are apart so that a planted defect can corrupt a run in between.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "tests/ops/op_case.h"
#include "tests/ops/tolerances.h"

namespace headway::ops_test {

// A backend under test: how to open it, and the ops and dtypes that it has kernels for.
struct BackendRow {
  std::string name;
  std::unique_ptr<backend::Device> (*open)(int threads);
  int (*most_threads)();  // 1 where the number of threads means nothing
  std::vector<std::pair<const graph::Op*, DType>> (*kernels)();
  // Copies between the host and the device's memory.
  void (*upload)(std::byte* device, std::span<const std::byte> host);
  void (*download)(std::span<std::byte> host, const std::byte* device);
};

// Every backend, in the order of backend_rows.cpp.
std::span<const BackendRow> backend_table();

// Bytes of one operand, or of the workspace, with the guards on both sides.
struct Guarded {
  static constexpr std::size_t kGuard = 256;
  static constexpr std::byte kCanary{0xA5};

  std::string name;
  std::vector<std::byte> bytes;  // guard, operand, guard

  std::span<std::byte> operand() { return std::span(bytes).subspan(kGuard, bytes.size() - 2 * kGuard); }
  std::span<const std::byte> operand() const { return std::span(bytes).subspan(kGuard, bytes.size() - 2 * kGuard); }
};

// What lay in memory after a launch.
struct KernelRun {
  std::string variant;
  std::vector<Guarded> inputs;  // an input that is updated in place is the output's memory too
  std::vector<Guarded> outputs;
  Guarded workspace;
};

// Launches the case twice on fresh operands and the same, dirty workspace; the second run is returned. Outputs and
// workspace are filled with 0xFF before: an element that is not written is NaN.
KernelRun run_case(const BackendRow& backend, backend::Device& device, const OpCase& test);

// The four checks.
testing::AssertionResult values_are_right(const OpCase& test, const KernelRun& run, const Tolerance& tolerance);
testing::AssertionResult canaries_are_whole(const KernelRun& run);
testing::AssertionResult inputs_are_untouched(const OpCase& test, const KernelRun& run);
testing::AssertionResult bits_are_equal(const KernelRun& a, const KernelRun& b);

}  // namespace headway::ops_test
