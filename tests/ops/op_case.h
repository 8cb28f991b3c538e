// One execution of one op with its operands and the right answer; the table of cases of all ops.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "graph/op.h"
#include "tests/ops/random.h"

namespace headway::ops_test {

struct OpCase {
  const graph::Op* op = nullptr;
  std::string label;  // "linear(f32[3, 5], f32[7, 5]) {activation=relu}"
  graph::Attributes attributes;
  std::vector<graph::TensorType> input_types;
  std::vector<Tensor> inputs;  // every element exact in its dtype
  std::vector<graph::TensorType> output_types;
  std::vector<Tensor> expected;  // by the fp64 reference
  bool large = false;            // many tiles: for kernels only
};

// An operand on its way into a case.
struct Operand {
  graph::TensorType type;
  Tensor values;
};

// Makes the cases of one op at one dtype of its floating-point operands.
class CaseMaker {
 public:
  CaseMaker(const graph::Op& op, DType dtype) : op_(op), dtype_(dtype), random_(op.name()) {}

  Random& random() { return random_; }
  DType dtype() const { return dtype_; }

  // Operands: floating point of the dtype under test, of f32 whatever that is (statistics, scalars), and integers.
  Operand floats(Shape shape, double low = -2, double high = 2);
  Operand given(Shape shape, Tensor values) { return {{dtype_, std::move(shape)}, std::move(values)}; }
  Operand f32(Shape shape, Tensor values) { return {{DType::kF32, std::move(shape)}, std::move(values)}; }
  Operand f32(Shape shape, double low = -2, double high = 2);
  Operand ids(Shape shape, std::int64_t low, std::int64_t high);
  Operand ids_of(Tensor values);
  Operand position(std::int64_t seed, std::int64_t step, std::int64_t micro_batch, std::int64_t first_sample);

  // Rounds the operands to their dtypes and infers the types of the outputs, which are computed later.
  OpCase& add(const graph::Attributes& attributes, std::vector<Operand> operands);
  // Outputs of another op by the reference: what a forward op saves for its gradient.
  std::vector<Operand> run(const graph::Op& op, const graph::Attributes& attributes, std::vector<Operand> operands);

  std::vector<OpCase> take() { return std::move(cases_); }

 private:
  const graph::Op& op_;
  DType dtype_;
  Random random_;
  std::vector<OpCase> cases_;
};

struct CaseRow {
  const graph::Op& (*op)();
  void (*make)(CaseMaker& maker);
};

// Every op, in the order of case_table.cpp.
std::span<const CaseRow> case_table();

// The cases of an op, small and large; InternalError when the table has no row.
std::vector<OpCase> cases_of(const graph::Op& op, DType dtype);
// Those that are not large, in f32: of one op, and of all.
std::vector<OpCase> small_cases_of(const graph::Op& op);
const std::vector<OpCase>& all_small_cases();

// The nearest value of a dtype, ties to even.
double round_to(DType dtype, double value);

}  // namespace headway::ops_test
