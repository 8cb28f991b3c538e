// The columnar format's description of a file: what stands where (docs/columnar.md has the bytes).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace headway::data {

// Columns of one dtype stand together in one block, row after row, so that a window of consecutive rows is one run of
// bytes. Blocks begin at multiples of kBlockAlignment.
inline constexpr std::int64_t kBlockAlignment = 64;
// A checksum covers this many bytes of a block (the last one less): damage is found to within these rows.
inline constexpr std::int64_t kChecksumBytes = std::int64_t{1} << 22;

// What a column may hold.
inline constexpr std::array<DType, 4> kColumnTypes = {DType::kF32, DType::kF64, DType::kI32, DType::kI64};

struct Column {
  std::string name;
  DType dtype = DType::kF32;

  bool operator==(const Column&) const = default;
};

struct ColumnBlock {
  DType dtype = DType::kF32;
  std::int64_t width = 0;   // columns
  std::int64_t offset = 0;  // of the first byte in the file
  std::int64_t bytes = 0;   // rows * width * size of the dtype
  std::vector<std::uint32_t> checksums = {};

  bool operator==(const ColumnBlock&) const = default;
};

struct ColumnarLayout {
  std::vector<Column> columns;
  std::int64_t rows = 0;
  std::vector<std::int64_t> segments;  // first row of each (a day); ascending from 0, none of them empty
  std::string origin;                  // for people: what the rows are and where they come from
  std::vector<ColumnBlock> blocks;

  bool operator==(const ColumnarLayout&) const = default;
};

// The blocks that columns need, in the order of kColumnTypes, with widths only.
std::vector<ColumnBlock> blocks_of(std::span<const Column> columns);

// The 64 bytes at the start of a file, and the footer at its end.
inline constexpr std::int64_t kPrologueBytes = 64;
std::array<std::byte, kPrologueBytes> encode_prologue(std::int64_t file_bytes, std::int64_t footer_offset,
                                                      const std::string& footer);
std::string encode_footer(const ColumnarLayout& layout);

// Checks everything that opening checks – magic, byte order, version, length, both checksums of prologue and footer,
// and that the blocks lie inside the file and agree with rows and columns – and returns the layout. UserError names
// `path` and what is wrong.
ColumnarLayout decode_layout(std::span<const std::byte> file, const std::string& path);

// CRC-32 (zlib's) of bytes, going on from `before`.
std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace headway::data
