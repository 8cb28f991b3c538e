#include "base/dtype.h"

#include <array>

namespace headway {
namespace {

struct Row {
  DType dtype;
  std::int64_t size;
  std::string_view name;
};

constexpr std::array<Row, 8> kRows = {{
    {DType::kF32, 4, "f32"},
    {DType::kF64, 8, "f64"},
    {DType::kF16, 2, "f16"},
    {DType::kBF16, 2, "bf16"},
    {DType::kI8, 1, "i8"},
    {DType::kU8, 1, "u8"},
    {DType::kI32, 4, "i32"},
    {DType::kI64, 8, "i64"},
}};

}  // namespace

std::int64_t size_of(DType dtype) {
  return kRows[static_cast<std::size_t>(dtype)].size;
}

std::string_view name_of(DType dtype) {
  return kRows[static_cast<std::size_t>(dtype)].name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace headway
