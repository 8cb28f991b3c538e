#include "tests/ops/kernel_check.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "tests/ops/encode.h"

namespace headway::ops_test {
namespace {

Guarded guarded(std::string name, std::span<const std::byte> content) {
  Guarded made{std::move(name), std::vector<std::byte>(content.size() + 2 * Guarded::kGuard, Guarded::kCanary)};
  if (!content.empty()) std::memcpy(made.operand().data(), content.data(), content.size());
  return made;
}

Guarded unwritten(std::string name, std::int64_t size) {
  return guarded(std::move(name), std::vector<std::byte>(static_cast<std::size_t>(size), std::byte{0xFF}));
}

// The memory of a Guarded on the device.
class Placed {
 public:
  Placed(const BackendRow& backend, backend::Device& device, const Guarded& from)
      : backend_(backend), buffer_(device.allocate(Bytes(static_cast<std::int64_t>(from.bytes.size())))) {
    write(from);
  }
  void write(const Guarded& from) { backend_.upload(buffer_->data(), from.bytes); }
  void read(Guarded& to) const { backend_.download(to.bytes, buffer_->data()); }
  std::byte* operand() const { return buffer_->data() + Guarded::kGuard; }

 private:
  const BackendRow& backend_;
  std::unique_ptr<backend::Buffer> buffer_;
};

// The input that an output is written over, or nothing.
std::optional<std::size_t> overwritten_input(const OpCase& test, std::size_t output) {
  for (const graph::Alias& alias : test.op->aliases(test.attributes, static_cast<std::int64_t>(test.inputs.size()))) {
    if (alias.output == static_cast<std::int64_t>(output)) return static_cast<std::size_t>(alias.input);
  }
  return std::nullopt;
}

}  // namespace

KernelRun run_case(const BackendRow& backend, backend::Device& device, const OpCase& test) {
  const std::unique_ptr<backend::Kernel> kernel =
      device.prepare({*test.op, test.attributes, test.input_types, test.output_types});
  const std::unique_ptr<backend::Stream> stream = device.make_stream();

  KernelRun run;
  run.variant = kernel->variant();
  run.workspace = unwritten("workspace", kernel->workspace().value);
  std::vector<Placed> inputs, outputs;
  std::vector<const void*> input_pointers;
  std::vector<void*> output_pointers;
  for (std::size_t index = 0; index < test.inputs.size(); ++index) {
    run.inputs.push_back(
        guarded(fmt::format("input {}", index), encode(test.input_types[index].dtype, test.inputs[index])));
    inputs.emplace_back(backend, device, run.inputs.back());
    input_pointers.push_back(inputs.back().operand());
  }
  for (std::size_t index = 0; index < test.output_types.size(); ++index) {
    run.outputs.push_back(unwritten(fmt::format("output {}", index), test.output_types[index].bytes().value));
    outputs.emplace_back(backend, device, run.outputs.back());
    const std::optional<std::size_t> over = overwritten_input(test, index);
    output_pointers.push_back(over ? inputs[*over].operand() : outputs.back().operand());
  }
  Placed workspace(backend, device, run.workspace);

  const std::vector<Guarded> fresh_inputs = run.inputs, fresh_outputs = run.outputs;
  for (int launch = 0; launch < 2; ++launch) {
    for (std::size_t index = 0; index < inputs.size(); ++index) inputs[index].write(fresh_inputs[index]);
    for (std::size_t index = 0; index < outputs.size(); ++index) outputs[index].write(fresh_outputs[index]);
    kernel->launch(*stream, {input_pointers, output_pointers, workspace.operand()});
    stream->synchronize();
  }
  for (std::size_t index = 0; index < inputs.size(); ++index) inputs[index].read(run.inputs[index]);
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    const std::optional<std::size_t> over = overwritten_input(test, index);
    (over ? inputs[*over] : outputs[index]).read(run.outputs[index]);
  }
  workspace.read(run.workspace);
  return run;
}

testing::AssertionResult values_are_right(const OpCase& test, const KernelRun& run, const Tolerance& tolerance) {
  for (std::size_t index = 0; index < test.expected.size(); ++index) {
    const DType dtype = test.output_types[index].dtype;
    const Tensor found = decode(dtype, run.outputs[index].operand());
    // The reference rounds nothing; an output of 16 bits can only be the nearest value.
    Tensor expected = test.expected[index];
    if (test.output_types[index].dtype == DType::kBF16) {
      for (double& value : expected) value = round_to(DType::kBF16, value);
    }
    if (found.size() != expected.size()) return testing::AssertionFailure() << test.label << ": sizes differ";
    const bool integer = !is_floating(dtype);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(found[i])) continue;
      const double allowed = integer ? 0 : tolerance.absolute + tolerance.relative * std::fabs(expected[i]);
      if (std::fabs(found[i] - expected[i]) <= allowed) continue;
      return testing::AssertionFailure() << fmt::format(
                 "{} [{}]: output {} {} element {} is {:.9g}, the reference says {:.9g}; error {:.3g}, allowed {:.3g}",
                 test.label, run.variant, index, graph::to_string(test.output_types[index]), i, found[i], expected[i],
                 std::fabs(found[i] - expected[i]), allowed);
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult canaries_are_whole(const KernelRun& run) {
  const auto check = [](const Guarded& memory) -> std::string {
    const std::size_t end = memory.bytes.size() - Guarded::kGuard;
    for (std::size_t i = 0; i < memory.bytes.size(); ++i) {
      if (i >= Guarded::kGuard && i < end) continue;
      if (memory.bytes[i] != Guarded::kCanary) {
        return fmt::format("{}: byte {} of {} was written", memory.name,
                           static_cast<std::int64_t>(i) - static_cast<std::int64_t>(Guarded::kGuard),
                           end - Guarded::kGuard);
      }
    }
    return "";
  };
  std::vector<const Guarded*> all = {&run.workspace};
  for (const Guarded& memory : run.inputs) all.push_back(&memory);
  for (const Guarded& memory : run.outputs) all.push_back(&memory);
  for (const Guarded* memory : all) {
    const std::string problem = check(*memory);
    if (!problem.empty()) return testing::AssertionFailure() << run.variant << ": " << problem;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult inputs_are_untouched(const OpCase& test, const KernelRun& run) {
  for (std::size_t index = 0; index < test.inputs.size(); ++index) {
    bool in_place = false;
    for (std::size_t output = 0; output < test.output_types.size(); ++output) {
      in_place = in_place || overwritten_input(test, output) == index;
    }
    if (in_place) continue;
    const std::vector<std::byte> before = encode(test.input_types[index].dtype, test.inputs[index]);
    if (!std::equal(before.begin(), before.end(), run.inputs[index].operand().begin())) {
      return testing::AssertionFailure() << test.label << ": input " << index << " was written";
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult bits_are_equal(const KernelRun& a, const KernelRun& b) {
  for (std::size_t index = 0; index < a.outputs.size(); ++index) {
    const std::span<const std::byte> left = a.outputs[index].operand(), right = b.outputs[index].operand();
    const auto [at, other] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    if (at == left.end() && other == right.end()) continue;
    return testing::AssertionFailure() << fmt::format("{}: output {} differs from byte {} on", a.variant, index,
                                                      at - left.begin());
  }
  return testing::AssertionSuccess();
}

}  // namespace headway::ops_test
