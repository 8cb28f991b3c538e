// For the tests of products, convolutions and pooling: one launch on one and on two threads beside the fp64 reference.
#pragma once

#include <fmt/core.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_device.h"
#include "backend/reference/reference.h"
#include "base/environment.h"
#include "base/rng.h"

namespace headway::backend::op_check {

using reference::Tensor;

inline graph::TensorType f32(Shape shape) {
  return {DType::kF32, std::move(shape)};
}

// Draws by (seed, call), so that a failure can be repeated.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : seed_(seed) {}
  Tensor normal(const Shape& shape) {
    Tensor values(static_cast<std::size_t>(shape.elements()));
    for (double& value : values) value = random_normal(seed_, 1, 0, next_++);
    return values;
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_bits(seed_, 2, 0, next_++) % static_cast<std::uint64_t>(bound));
  }
  std::int64_t one_of(std::vector<std::int64_t> values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
  }

 private:
  std::uint32_t seed_;
  std::uint64_t next_ = 0;
};

struct Problem {
  const graph::Op& op;
  graph::Attributes attributes;
  std::vector<graph::TensorType> types;
  std::vector<Tensor> inputs;
  double tolerance = 0;  // absolute; values are of size 1
};

// How far f32 sums of k products of normal values may be off when they are added one after the other.
inline double tolerance_of_sum(std::int64_t k) {
  return 4e-6 + 4e-7 * static_cast<double>(k);
}

// Bytes with 64 known ones before and after.
class Guarded {
 public:
  explicit Guarded(std::int64_t size) : bytes_(static_cast<std::size_t>(size) + 192, kCanary) {
    start_ = 64 + (64 - reinterpret_cast<std::uintptr_t>(bytes_.data()) % 64) % 64;
    size_ = static_cast<std::size_t>(size);
    std::fill_n(data(), size_, std::byte{0xFF});
  }
  std::byte* data() { return bytes_.data() + start_; }
  std::vector<std::byte> content() { return {data(), data() + size_}; }
  bool intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < start_ || i >= start_ + size_) && bytes_[i] != kCanary) return false;
    }
    return true;
  }

 private:
  static constexpr std::byte kCanary{0xA5};
  std::vector<std::byte> bytes_;
  std::size_t start_ = 0, size_ = 0;
};

// Two threads first: a device pins the thread that opens it, and then that thread sees one core.
inline Device& device_of(int threads) {
  static const int most = std::min<int>(2, static_cast<int>(allowed_cpus().size()));
  static const std::unique_ptr<Device> two = open_cpu_device(most), one = open_cpu_device(1);
  return threads == 1 ? *one : *two;
}

using Defect = std::function<void(std::vector<std::vector<std::byte>>& outputs)>;

inline std::vector<std::vector<std::byte>> launch(const Problem& p, const std::vector<graph::TensorType>& output_types,
                                                  int threads, std::string& failures) {
  Device& device = device_of(threads);
  const std::unique_ptr<Kernel> kernel = device.prepare({p.op, p.attributes, p.types, output_types});
  std::vector<Guarded> inputs, outputs;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (std::size_t i = 0; i < p.types.size(); ++i) {
    inputs.emplace_back(p.types[i].bytes().value);
    for (std::size_t j = 0; j < p.inputs[i].size(); ++j) {
      if (p.types[i].dtype == DType::kU8) {
        inputs[i].data()[j] = static_cast<std::byte>(p.inputs[i][j]);
      } else {
        const auto value = static_cast<float>(p.inputs[i][j]);
        std::memcpy(inputs[i].data() + 4 * j, &value, 4);
      }
    }
  }
  for (const graph::TensorType& type : output_types) outputs.emplace_back(type.bytes().value);
  for (Guarded& input : inputs) from.push_back(input.data());
  for (Guarded& output : outputs) to.push_back(output.data());
  Guarded workspace(kernel->workspace().value);
  kernel->launch(*device.make_stream(), {from, to, workspace.data()});
  if (!workspace.intact()) failures += "wrote outside the workspace; ";
  if (std::any_of(inputs.begin(), inputs.end(), [](const Guarded& g) { return !g.intact(); })) {
    failures += "wrote around an input; ";
  }
  if (std::any_of(outputs.begin(), outputs.end(), [](const Guarded& g) { return !g.intact(); })) {
    failures += "wrote around an output; ";
  }
  std::vector<std::vector<std::byte>> results;
  for (Guarded& output : outputs) results.push_back(output.content());
  return results;
}

// The first wrong element of each output.
inline std::string compare(const Problem& p, const std::vector<graph::TensorType>& types,
                           const std::vector<Tensor>& wanted, const std::vector<std::vector<std::byte>>& outputs) {
  std::string failures;
  for (std::size_t i = 0; i < types.size(); ++i) {
    for (std::size_t j = 0; j < wanted[i].size(); ++j) {
      float got = 0;
      if (types[i].dtype == DType::kU8) {
        got = static_cast<float>(std::to_integer<int>(outputs[i][j]));
      } else {
        std::memcpy(&got, outputs[i].data() + 4 * j, 4);
      }
      if (std::abs(got - wanted[i][j]) <= p.tolerance) continue;
      failures += fmt::format("output {} element {} is {}, should be {}; ", i, j, got, wanted[i][j]);
      break;
    }
  }
  return failures;
}

// What is wrong on any instruction set of this machine, "" when nothing is. `defect` spoils the outputs first: a check
// that still finds nothing is no check.
inline std::string failures_of(const Problem& p, const Defect& defect = {}) {
  const std::vector<graph::TensorType> types = p.op.infer(p.attributes, p.types);
  const std::vector<Tensor> wanted = reference::run_op(p.op, p.attributes, p.types, types, p.inputs);
  std::string failures;
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t left = all & (HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON); left != 0; left &= left - 1) {
    hwy::GetChosenTarget().Update(left & -left);
    std::string found;
    auto once = launch(p, types, 1, found);
    if (launch(p, types, 2, found) != once) found += "two threads give other bits; ";
    if (defect) defect(once);
    found += compare(p, types, wanted, once);
    if (!found.empty()) failures += fmt::format("{}: {}", hwy::TargetName(left & -left), found);
  }
  hwy::GetChosenTarget().Update(all);
  if (failures.empty()) return "";
  std::string operands;
  for (const graph::TensorType& type : p.types) operands += fmt::format(" {}", graph::to_string(type));
  return fmt::format("{}{} {}: {}", p.op.name(), operands, graph::to_string(p.attributes), failures);
}

}  // namespace headway::backend::op_check
