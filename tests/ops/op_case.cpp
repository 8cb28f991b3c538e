#include "tests/ops/op_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>

#include "backend/reference/reference.h"
#include "base/error.h"

namespace headway::ops_test {
namespace {

float round_to_bf16(float value) {
  if (std::isnan(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>(rounded & 0xFFFF0000);
}

void round_operands(std::vector<Operand>& operands) {
  for (Operand& operand : operands) {
    for (double& value : operand.values) value = round_to(operand.type.dtype, value);
  }
}

std::vector<graph::TensorType> types_of(const std::vector<Operand>& operands) {
  std::vector<graph::TensorType> types;
  for (const Operand& operand : operands) types.push_back(operand.type);
  return types;
}

std::vector<Tensor> values_of(const std::vector<Operand>& operands) {
  std::vector<Tensor> values;
  for (const Operand& operand : operands) values.push_back(operand.values);
  return values;
}

}  // namespace

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<float>(value);
    case DType::kBF16:
      return round_to_bf16(static_cast<float>(value));
    default:
      return value;
  }
}

Operand CaseMaker::floats(Shape shape, double low, double high) {
  Tensor values = random_.tensor(shape, low, high);
  return {{dtype_, std::move(shape)}, std::move(values)};
}

Operand CaseMaker::f32(Shape shape, double low, double high) {
  Tensor values = random_.tensor(shape, low, high);
  return {{DType::kF32, std::move(shape)}, std::move(values)};
}

Operand CaseMaker::ids(Shape shape, std::int64_t low, std::int64_t high) {
  Tensor values = random_.integers(shape, low, high);
  return {{DType::kI32, std::move(shape)}, std::move(values)};
}

Operand CaseMaker::ids_of(Tensor values) {
  Shape shape = {static_cast<std::int64_t>(values.size())};
  return {{DType::kI32, std::move(shape)}, std::move(values)};
}

Operand CaseMaker::position(std::int64_t seed, std::int64_t step, std::int64_t micro_batch, std::int64_t first_sample) {
  return {{DType::kI64, {4}},
          {static_cast<double>(seed), static_cast<double>(step), static_cast<double>(micro_batch),
           static_cast<double>(first_sample)}};
}

OpCase& CaseMaker::add(const graph::Attributes& attributes, std::vector<Operand> operands) {
  round_operands(operands);
  OpCase made;
  made.op = &op_;
  made.attributes = attributes;
  made.input_types = types_of(operands);
  made.inputs = values_of(operands);
  std::vector<std::string> names;
  for (const graph::TensorType& type : made.input_types) names.push_back(graph::to_string(type));
  if (names.size() > 8) names = {fmt::format("{} operands", names.size())};
  made.label = fmt::format("{}({}) {}", op_.name(), fmt::join(names, ", "), graph::to_string(attributes));
  made.output_types = op_.infer(attributes, made.input_types);
  cases_.push_back(std::move(made));
  return cases_.back();
}

std::vector<Operand> CaseMaker::run(const graph::Op& op, const graph::Attributes& attributes,
                                    std::vector<Operand> operands) {
  round_operands(operands);
  const std::vector<graph::TensorType> input_types = types_of(operands);
  const std::vector<graph::TensorType> output_types = op.infer(attributes, input_types);
  std::vector<Tensor> outputs =
      backend::reference::run_op(op, attributes, input_types, output_types, values_of(operands));
  std::vector<Operand> result;
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    result.push_back({output_types[index], std::move(outputs[index])});
  }
  round_operands(result);
  return result;
}

namespace {

std::vector<OpCase> make_cases(const graph::Op& op, DType dtype, bool with_large) {
  for (const CaseRow& row : case_table()) {
    if (&row.op() != &op) continue;
    CaseMaker maker(op, dtype);
    row.make(maker);
    std::vector<OpCase> cases = maker.take();
    if (!with_large) std::erase_if(cases, [](const OpCase& test) { return test.large; });
    for (OpCase& test : cases) {
      test.expected = backend::reference::run_op(op, test.attributes, test.input_types, test.output_types, test.inputs);
    }
    return cases;
  }
  throw InternalError(fmt::format("tests/ops/case_table.cpp has no row for op {}", op.name()));
}

}  // namespace

std::vector<OpCase> cases_of(const graph::Op& op, DType dtype) {
  return make_cases(op, dtype, true);
}

std::vector<OpCase> small_cases_of(const graph::Op& op) {
  std::vector<OpCase> found;
  for (const OpCase& test : all_small_cases()) {
    if (test.op == &op) found.push_back(test);
  }
  return found;
}

const std::vector<OpCase>& all_small_cases() {
  static const std::vector<OpCase> kAll = [] {
    std::vector<OpCase> all;
    for (const CaseRow& row : case_table()) {
      for (OpCase& one : make_cases(row.op(), DType::kF32, false)) all.push_back(std::move(one));
    }
    return all;
  }();
  return kAll;
}

}  // namespace headway::ops_test
