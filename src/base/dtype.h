// Element types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headway {

enum class DType : std::uint8_t { kF32, kF64, kF16, kBF16, kI8, kU8, kI32, kI64 };

// Size of one element in bytes.
std::int64_t size_of(DType dtype);

// The short name: "f32", "bf16", "i64" ...
std::string_view name_of(DType dtype);

// The reverse of name_of; nothing for an unknown name.
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace headway
