// For tests: runs one kernel beside the fp64 reference and says everything that is wrong with it.
//
// Checked: values against the reference, bits equal for one and two threads, a second launch equal to the first,
// canaries around every output, the workspace and the inputs, inputs unchanged, every output element written, for every
// instruction set this machine has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/reference/reference.h"
#include "base/rng.h"

namespace headway::backend::testing {

using reference::Tensor;

// An element may differ from the reference by absolute + relative * |reference|.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// The one table of tolerances. Absolute ones are for values of size 1.
Tolerance tolerance_of(const graph::Op& op);

struct Case {
  const graph::Op& op;
  graph::Attributes attributes;
  std::vector<graph::TensorType> types;  // of the inputs
  std::vector<Tensor> inputs;            // values that their types hold exactly
  // What the absolute tolerance is multiplied by: the size of values, of the largest sum where an output is a sum.
  double magnitude = 1;
};

using Prepare = std::function<std::unique_ptr<Kernel>(Device& device, const KernelRequest& request)>;

// One line a failure; empty when all is well. `prepare` stands in for the device's own kernel where a defect is
// planted.
std::vector<std::string> failures_of(const Case& test, const Prepare& prepare = {});

// failures_of in lines of text that name the case.
std::string report_of(const Case& test);

// The kernel's outputs as numbers, one thread, nothing checked.
std::vector<Tensor> outputs_of(const Case& test);

// Values of f32, drawn by (seed, index): normal times `scale`.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}

  Tensor normal(std::int64_t count, double scale = 1) {
    Tensor values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(scale * static_cast<double>(random_normal(seed_, 1, 0, next_++))));
    }
    return values;
  }
  // Whole numbers in [low, high).
  Tensor whole(std::int64_t count, std::int64_t low, std::int64_t high) {
    Tensor values;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto span = static_cast<std::uint64_t>(high - low);
      values.push_back(static_cast<double>(low + static_cast<std::int64_t>(random_bits(seed_, 2, 0, next_++) % span)));
    }
    return values;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

inline graph::TensorType f32(Shape shape) {
  return {DType::kF32, std::move(shape)};
}
inline graph::TensorType i32(Shape shape) {
  return {DType::kI32, std::move(shape)};
}
inline graph::TensorType i64(Shape shape) {
  return {DType::kI64, std::move(shape)};
}

}  // namespace headway::backend::testing
