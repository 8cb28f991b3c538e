#include "backend/cpu/kernel_harness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/tile_kernel.h"
#include "base/environment.h"
#include "base/error.h"
#include "graph/ops/arithmetic.h"

namespace headway::backend::testing {
namespace {

constexpr std::size_t kCanary = 256;
constexpr std::byte kCanaryByte{0xA5}, kUnwritten{0xFF};  // four 0xFF are a NaN, and -1

// Bytes with canaries on both sides; the bytes start on a cache line.
class Guarded {
 public:
  Guarded(std::int64_t size, std::byte fill) : size_(static_cast<std::size_t>(size)) {
    bytes_.assign(size_ + 2 * kCanary + 64, kCanaryByte);
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kCanary;
    start_ = kCanary + (64 - address % 64) % 64;
    std::memset(data(), static_cast<int>(fill), size_);
  }
  std::byte* data() { return bytes_.data() + start_; }
  std::size_t size() const { return size_; }
  bool intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < start_ || i >= start_ + size_) && bytes_[i] != kCanaryByte) return false;
    }
    return true;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t size_, start_ = 0;
};

template <class T>
void store_as(const Tensor& values, std::byte* to) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

void store(DType dtype, const Tensor& values, std::byte* to) {
  switch (dtype) {
    case DType::kF32:
      return store_as<float>(values, to);
    case DType::kI32:
      return store_as<std::int32_t>(values, to);
    case DType::kI64:
      return store_as<std::int64_t>(values, to);
    default:
      throw InternalError("harness: dtype not supported");
  }
}

Tensor load_f32(const std::byte* from, std::int64_t count) {
  Tensor values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    float value = 0;
    std::memcpy(&value, from + 4 * i, 4);
    values[i] = value;
  }
  return values;
}

// What one run left behind.
struct Trace {
  std::vector<std::vector<std::byte>> outputs;
  std::vector<std::string> failures;
};

int cores() {
  // Before the first device pins this thread to one of them.
  static const int count = static_cast<int>(allowed_cpus().size());
  return count;
}

// The device with most threads first: it must see all cores, and a device pins its caller to one.
Device& device_of(int threads) {
  static const std::unique_ptr<Device> two = open_cpu_device(std::min(2, cores()));
  static const std::unique_ptr<Device> one = open_cpu_device(1);
  return threads == 1 ? *one : *two;
}

Trace run(const Case& test, const std::vector<graph::TensorType>& output_types, int threads, const Prepare& prepare) {
  Device& device = device_of(threads);
  const KernelRequest request{test.op, test.attributes, test.types, output_types};
  const std::unique_ptr<Kernel> kernel = prepare ? prepare(device, request) : device.prepare(request);

  std::vector<Guarded> inputs, outputs;
  for (std::size_t i = 0; i < test.types.size(); ++i) {
    inputs.emplace_back(test.types[i].bytes().value, kUnwritten);
    store(test.types[i].dtype, test.inputs[i], inputs.back().data());
  }
  for (const graph::TensorType& type : output_types) outputs.emplace_back(type.bytes().value, kUnwritten);
  std::vector<const void*> from;
  std::vector<void*> to;
  for (Guarded& input : inputs) from.push_back(input.data());
  for (Guarded& output : outputs) to.push_back(output.data());
  std::vector<bool> overwritten(inputs.size(), false);
  for (const graph::Alias& alias : test.op.aliases(test.attributes, static_cast<std::int64_t>(test.types.size()))) {
    to[static_cast<std::size_t>(alias.output)] = inputs[static_cast<std::size_t>(alias.input)].data();
    overwritten[static_cast<std::size_t>(alias.input)] = true;
  }
  Guarded workspace(kernel->workspace().value, kUnwritten);
  kernel->launch(*device.make_stream(), {from, to, workspace.data()});

  Trace trace;
  if (!workspace.intact()) trace.failures.push_back("wrote outside the workspace");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].intact()) trace.failures.push_back(fmt::format("wrote around input {}", i));
    std::vector<std::byte> given(inputs[i].size());
    store(test.types[i].dtype, test.inputs[i], given.data());
    if (!overwritten[i] && !given.empty() && std::memcmp(given.data(), inputs[i].data(), given.size()) != 0) {
      trace.failures.push_back(fmt::format("changed input {}", i));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].intact()) trace.failures.push_back(fmt::format("wrote around output {}", i));
    const auto* data = static_cast<const std::byte*>(to[i]);
    trace.outputs.emplace_back(data, data + outputs[i].size());
  }
  return trace;
}

bool close(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

void compare(const Trace& trace, const std::vector<Tensor>& wanted, const Tolerance& tolerance,
             const std::string& where, std::vector<std::string>& failures) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Tensor got = load_f32(trace.outputs[i].data(), static_cast<std::int64_t>(wanted[i].size()));
    for (std::size_t j = 0; j < got.size(); ++j) {
      static constexpr std::array kBlank = {kUnwritten, kUnwritten, kUnwritten, kUnwritten};
      if (std::memcmp(trace.outputs[i].data() + 4 * j, kBlank.data(), 4) == 0) {
        failures.push_back(fmt::format("{}: output {} element {} was not written", where, i, j));
        break;
      }
      if (!close(got[j], wanted[i][j], tolerance)) {
        failures.push_back(fmt::format("{}: output {} element {} is {}, should be {} (off by {:.3g})", where, i, j,
                                       got[j], wanted[i][j], std::abs(got[j] - wanted[i][j])));
        break;
      }
    }
  }
}

struct ToleranceRow {
  std::string_view op;
  Tolerance tolerance;
};

// Units in the last place of f32 are 6e-8 to 1.2e-7 of a value.
constexpr std::array kTolerances = {
    ToleranceRow{"activation", {3e-7, 3e-7}},       // erf and sigmoid: absolute bounds of vector_math-inl.h times |x|
    ToleranceRow{"activation_grad", {3e-7, 1e-6}},  //
    ToleranceRow{"swiglu", {6e-7, 1e-6}},           //
    ToleranceRow{"swiglu_grad", {1e-6, 1e-6}},      //
    ToleranceRow{"layernorm", {1e-6, 1e-6}},        //
    ToleranceRow{"layernorm_grad", {1e-6, 2e-6}},   //
    ToleranceRow{"rmsnorm", {1e-6, 1e-6}},          //
    ToleranceRow{"rmsnorm_grad", {1e-6, 2e-6}},     //
    ToleranceRow{"batchnorm", {1e-6, 1e-6}},        //
    ToleranceRow{"batchnorm_grad", {1e-6, 2e-6}},   //
    ToleranceRow{"softmax", {1e-6, 1e-9}},          //
    ToleranceRow{"softmax_grad", {1e-6, 1e-7}},     //
    ToleranceRow{"cross_entropy", {5e-7, 5e-7}},    //
    ToleranceRow{"cross_entropy_grad", {1e-6, 5e-7}},
    ToleranceRow{"mse", {5e-7, 0}},
    ToleranceRow{"mse_grad", {3e-7, 0}},
    ToleranceRow{"bce_with_logits", {5e-7, 1e-12}},
    ToleranceRow{"bce_with_logits_grad", {1e-6, 3e-7}},
    ToleranceRow{"count_correct", {0, 0}},
    ToleranceRow{"embedding", {0, 0}},
    ToleranceRow{"embedding_grad", {1e-6, 1e-6}},
    ToleranceRow{"position_embedding", {6e-8, 0}},
    ToleranceRow{"position_embedding_grad", {1e-6, 1e-6}},
    ToleranceRow{"dropout", {1.5e-7, 0}},
    ToleranceRow{"add", {6e-8, 0}},
    ToleranceRow{"sub", {6e-8, 0}},
    ToleranceRow{"div", {6e-8, 0}},
    ToleranceRow{"mul", {6e-8, 0}},
    ToleranceRow{"scale", {6e-8, 0}},
    ToleranceRow{"fill", {6e-8, 0}},
    ToleranceRow{"sum_leading", {1e-6, 1e-6}},
    ToleranceRow{"reduce", {1e-6, 1e-6}},
    ToleranceRow{"expand", {0, 0}},
    ToleranceRow{"accumulate", {6e-8, 0}},
    ToleranceRow{"transpose", {0, 0}},
    ToleranceRow{"concat", {0, 0}},
    ToleranceRow{"slice", {0, 0}},
    ToleranceRow{"slice_grad", {0, 0}},
    ToleranceRow{"grad_norm", {6e-8, 0}},
    ToleranceRow{"adamw", {1e-6, 5e-7}},
    ToleranceRow{"sgd", {1e-6, 5e-7}},
};

}  // namespace

Tolerance tolerance_of(const graph::Op& op) {
  for (const ToleranceRow& row : kTolerances) {
    if (row.op == op.name()) return row.tolerance;
  }
  throw InternalError(fmt::format("harness: no tolerance for {}", op.name()));
}

std::vector<std::string> failures_of(const Case& test, const Prepare& prepare) {
  const std::vector<graph::TensorType> output_types = test.op.infer(test.attributes, test.types);
  const std::vector<Tensor> wanted = reference::run_op(test.op, test.attributes, test.types, output_types, test.inputs);
  Tolerance tolerance = tolerance_of(test.op);
  tolerance.absolute *= test.magnitude;
  std::vector<std::string> failures;
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t left = all & (HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::GetChosenTarget().Update(target);
    const std::string where = hwy::TargetName(target);
    const Trace once = run(test, output_types, 1, prepare), again = run(test, output_types, 1, prepare);
    const Trace two = run(test, output_types, 2, prepare);
    compare(once, wanted, tolerance, where, failures);
    for (const std::string& failure : once.failures) failures.push_back(where + ": " + failure);
    for (const std::string& failure : two.failures) failures.push_back(where + ", two threads: " + failure);
    if (once.outputs != again.outputs) failures.push_back(where + ": a second launch gives other bits");
    if (once.outputs != two.outputs) failures.push_back(where + ": two threads give other bits than one");
  }
  hwy::GetChosenTarget().Update(all);
  return failures;
}

std::string report_of(const Case& test) {
  const std::vector<std::string> failures = failures_of(test);
  if (failures.empty()) return "";
  std::string types;
  for (const graph::TensorType& type : test.types) types += fmt::format(" {}", graph::to_string(type));
  return fmt::format("{}{} {}\n  {}\n", test.op.name(), types, graph::to_string(test.attributes),
                     fmt::join(failures, "\n  "));
}

std::vector<Tensor> outputs_of(const Case& test) {
  const std::vector<graph::TensorType> output_types = test.op.infer(test.attributes, test.types);
  const Trace trace = run(test, output_types, 1, {});
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    outputs.push_back(load_f32(trace.outputs[i].data(), output_types[i].shape.elements()));
  }
  return outputs;
}

namespace {

// y = 3 x in tiles of 100 elements, with a defect: each must be found by the check that it is named after.
Case triple() {
  return {graph::scale_op(), graph::ScaleAttributes{3}.to_attributes(), {f32({1000})}, {Draw(1).normal(1000)}};
}

template <class Defect>
Prepare planted(Defect defect) {
  return [defect](Device&, const KernelRequest&) -> std::unique_ptr<Kernel> {
    const Grid grid{1000, 100};
    return tile_kernel({grid.tiles()}, Bytes(64), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
      const float* x = input(args, 0);
      float* y = output(args, 0);
      for (std::int64_t i = grid.begin(tile); i < grid.begin(tile) + grid.length(tile); ++i) y[i] = x[i] * 3;
      defect(tile, args);
    });
  };
}

void expect_found(const Prepare& prepare, const std::string& message) {
  const std::vector<std::string> failures = failures_of(triple(), prepare);
  const std::string all = fmt::format("{}", fmt::join(failures, "\n"));
  EXPECT_NE(all.find(message), std::string::npos) << "not found: " << message << "\namong:\n" << all;
}

TEST(KernelHarness, PassesWhatIsRight) {
  EXPECT_EQ(failures_of(triple(), planted([](std::int64_t, const KernelArgs&) {})), std::vector<std::string>());
}

TEST(KernelHarness, FindsAWrongValue) {
  expect_found(planted([](std::int64_t tile, const KernelArgs& args) {
                 if (tile == 9) output(args, 0)[999] *= 1.000001F;
               }),
               "output 0 element");
}

TEST(KernelHarness, FindsAnElementNotWritten) {
  expect_found(planted([](std::int64_t tile, const KernelArgs& args) {
                 if (tile == 9) std::memset(output(args, 0) + 999, 0xFF, 4);
               }),
               "was not written");
}

// One tile writes: several would race, which is another defect.
TEST(KernelHarness, FindsWritesOutside) {
  expect_found(planted([](std::int64_t tile, const KernelArgs& args) {
                 if (tile == 9) output(args, 0)[1000] = 0;
               }),
               "wrote around output 0");
  expect_found(planted([](std::int64_t tile, const KernelArgs& args) {
                 if (tile == 9) output(args, 0)[-1] = 0;
               }),
               "wrote around output 0");
  expect_found(planted([](std::int64_t tile, const KernelArgs& args) {
                 if (tile == 9) args.workspace[64] = std::byte{0};
               }),
               "wrote outside the workspace");
}

TEST(KernelHarness, FindsAChangedInput) {
  expect_found(planted([](std::int64_t tile, const KernelArgs& args) {
                 if (tile == 9) const_cast<float*>(input(args, 0))[5] = 0;
               }),
               "changed input 0");
}

TEST(KernelHarness, FindsBitsThatDependOnThreads) {
  if (cores() < 2) GTEST_SKIP() << "one core";
  // A prepare that looks at the number of threads.
  const Prepare prepare = [](Device& device, const KernelRequest& request) {
    const bool many = device.threads() > 1;
    return planted([many](std::int64_t tile, const KernelArgs& args) {
      if (many && tile == 3) output(args, 0)[300] = std::nextafter(output(args, 0)[300], 10.0F);
    })(device, request);
  };
  expect_found(prepare, "two threads give other bits than one");
}

TEST(KernelHarness, FindsAStateKeptBetweenLaunches) {
  auto launches = std::make_shared<std::atomic<int>>(0);
  expect_found(planted([launches](std::int64_t tile, const KernelArgs& args) {
                 if (tile == 0) output(args, 0)[0] += static_cast<float>(launches->fetch_add(1));
               }),
               "a second launch gives other bits");
}

}  // namespace
}  // namespace headway::backend::testing
