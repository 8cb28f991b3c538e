// Tensors of doubles to and from the bytes of a dtype.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "tests/ops/random.h"

namespace headway::ops_test {

inline bool is_floating(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// Calls body with a value of the C++ type that holds `dtype`; bf16 is the upper half of a float.
template <class Body>
void with_storage(DType dtype, Body body) {
  switch (dtype) {
    case DType::kF32:
      return body(float{});
    case DType::kF64:
      return body(double{});
    case DType::kI8:
      return body(std::int8_t{});
    case DType::kU8:
      return body(std::uint8_t{});
    case DType::kI32:
      return body(std::int32_t{});
    case DType::kI64:
      return body(std::int64_t{});
    case DType::kBF16:
    case DType::kF16:
      return body(std::uint16_t{});
  }
}

inline std::vector<std::byte> encode(DType dtype, const Tensor& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(size_of(dtype)));
  with_storage(dtype, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T stored;
      if (dtype == DType::kBF16) {
        stored = static_cast<T>(std::bit_cast<std::uint32_t>(static_cast<float>(values[i])) >> 16);
      } else {
        stored = static_cast<T>(values[i]);
      }
      std::memcpy(bytes.data() + i * sizeof(T), &stored, sizeof(T));
    }
  });
  return bytes;
}

inline Tensor decode(DType dtype, std::span<const std::byte> bytes) {
  Tensor values(bytes.size() / static_cast<std::size_t>(size_of(dtype)));
  with_storage(dtype, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T stored;
      std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof(T));
      if (dtype == DType::kBF16) {
        values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16);
      } else {
        values[i] = static_cast<double>(stored);
      }
    }
  });
  return values;
}

}  // namespace headway::ops_test
