#include "data/market/columnar.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace headway::data {
namespace {

using nlohmann::json;

constexpr std::array<char, 8> kMagic = {'H', 'E', 'A', 'D', 'W', 'A', 'Y', 'C'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kByteOrder = 0x01020304;  // reads as 0x04030201 on a machine of the other byte order

struct Prologue {
  std::array<char, 8> magic = kMagic;
  std::uint32_t byte_order = kByteOrder;
  std::uint32_t version = kVersion;
  std::uint64_t file_bytes = 0;
  std::uint64_t footer_offset = 0;
  std::uint64_t footer_bytes = 0;
  std::uint32_t footer_checksum = 0;
  std::uint32_t checksum = 0;  // of all before it
  std::array<std::uint8_t, 16> reserved = {};
};
static_assert(sizeof(Prologue) == kPrologueBytes && offsetof(Prologue, checksum) == 44);

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UserError(fmt::format("{}: {}", path, what));
}

std::uint32_t prologue_checksum(const Prologue& prologue) {
  return checksum(std::as_bytes(std::span(&prologue, 1)).first(offsetof(Prologue, checksum)));
}

Prologue decode_prologue(std::span<const std::byte> file, const std::string& path) {
  constexpr const char* kMake = "`headway data convert` makes one";
  Prologue prologue;
  if (file.size() < sizeof(prologue)) {
    fail(path, fmt::format("{} bytes are too few for a columnar file of Headway; {}", file.size(), kMake));
  }
  std::memcpy(static_cast<void*>(&prologue), file.data(), sizeof(prologue));
  if (prologue.magic != kMagic) fail(path, fmt::format("is not a columnar file of Headway; {}", kMake));
  if (prologue.byte_order != kByteOrder) {
    fail(path, prologue.byte_order == 0x04030201U
                   ? "was written on a machine of the other byte order; convert the source again on this one"
                   : "the prologue is damaged (byte order mark); convert the source again");
  }
  if (prologue.version != kVersion) {
    fail(path, fmt::format("is of version {} of the format, this program reads version {}; convert the source again",
                           prologue.version, kVersion));
  }
  if (prologue.checksum != prologue_checksum(prologue)) {
    fail(path, "the prologue is damaged (checksum); convert the source again");
  }
  if (file.size() != prologue.file_bytes) {
    fail(path, fmt::format("{}: {} bytes of {}; copy or convert it again",
                           file.size() < prologue.file_bytes ? "is cut short" : "has bytes after its end", file.size(),
                           prologue.file_bytes));
  }
  return prologue;
}

template <class T>
T field(const json& object, const char* key) {
  return object.at(key).get<T>();
}

ColumnarLayout parse_footer(std::string_view text) {
  const json root = json::parse(text);
  ColumnarLayout layout;
  layout.rows = field<std::int64_t>(root, "rows");
  layout.origin = field<std::string>(root, "origin");
  layout.segments = field<std::vector<std::int64_t>>(root, "segments");
  const auto dtype_of = [](const json& object) {
    const std::string name = field<std::string>(object, "dtype");
    const auto dtype = dtype_from_name(name);
    if (!dtype || std::find(kColumnTypes.begin(), kColumnTypes.end(), *dtype) == kColumnTypes.end()) {
      throw UserError("unknown dtype " + name);
    }
    return *dtype;
  };
  for (const json& column : root.at("columns")) {
    layout.columns.push_back({field<std::string>(column, "name"), dtype_of(column)});
  }
  for (const json& block : root.at("blocks")) {
    layout.blocks.push_back({dtype_of(block), field<std::int64_t>(block, "width"), field<std::int64_t>(block, "offset"),
                             field<std::int64_t>(block, "bytes"),
                             field<std::vector<std::uint32_t>>(block, "checksums")});
  }
  return layout;
}

// What a footer with a right checksum can only get wrong by another program's fault; "" when all is well.
std::string fault_of(const ColumnarLayout& layout, std::int64_t data_end) {
  if (layout.rows < 0 || layout.columns.empty()) return "no columns, or a negative number of rows";
  std::vector<ColumnBlock> expected = blocks_of(layout.columns);
  if (expected.size() != layout.blocks.size()) return "blocks do not follow from the columns";
  for (std::size_t index = 0; index < expected.size(); ++index) {
    const ColumnBlock& block = layout.blocks[index];
    if (block.dtype != expected[index].dtype || block.width != expected[index].width) {
      return "blocks do not follow from the columns";
    }
    const std::int64_t row_bytes = block.width * size_of(block.dtype);
    if (layout.rows > data_end / row_bytes || block.bytes != layout.rows * row_bytes) {
      return fmt::format("the {} block has {} bytes for {} rows", name_of(block.dtype), block.bytes, layout.rows);
    }
    if (block.offset < kPrologueBytes || block.offset % kBlockAlignment != 0 || block.offset > data_end - block.bytes) {
      return fmt::format("the {} block lies outside the file", name_of(block.dtype));
    }
    if (static_cast<std::int64_t>(block.checksums.size()) != (block.bytes + kChecksumBytes - 1) / kChecksumBytes) {
      return fmt::format("the {} block has {} checksums", name_of(block.dtype), block.checksums.size());
    }
  }
  for (std::size_t index = 0; index < layout.segments.size(); ++index) {
    const std::int64_t before = index == 0 ? -1 : layout.segments[index - 1];
    if (layout.segments[index] <= before || layout.segments[index] >= layout.rows) return "segments out of order";
  }
  if (layout.segments.empty() != (layout.rows == 0)) return "segments do not cover the rows";
  if (layout.rows > 0 && layout.segments[0] != 0) return "segments do not begin at row 0";
  return "";
}

}  // namespace

std::vector<ColumnBlock> blocks_of(std::span<const Column> columns) {
  std::vector<ColumnBlock> blocks;
  for (const DType dtype : kColumnTypes) {
    const auto width = std::count_if(columns.begin(), columns.end(), [&](const Column& c) { return c.dtype == dtype; });
    if (width > 0) blocks.push_back({.dtype = dtype, .width = width});
  }
  return blocks;
}

std::array<std::byte, kPrologueBytes> encode_prologue(std::int64_t file_bytes, std::int64_t footer_offset,
                                                      const std::string& footer) {
  Prologue prologue;
  prologue.file_bytes = static_cast<std::uint64_t>(file_bytes);
  prologue.footer_offset = static_cast<std::uint64_t>(footer_offset);
  prologue.footer_bytes = footer.size();
  prologue.footer_checksum = checksum(std::as_bytes(std::span(footer)));
  prologue.checksum = prologue_checksum(prologue);
  std::array<std::byte, kPrologueBytes> bytes;
  std::memcpy(bytes.data(), &prologue, sizeof(prologue));
  return bytes;
}

std::string encode_footer(const ColumnarLayout& layout) {
  json root = {{"rows", layout.rows}, {"origin", layout.origin}, {"segments", layout.segments}};
  for (const Column& column : layout.columns) {
    root["columns"].push_back({{"name", column.name}, {"dtype", name_of(column.dtype)}});
  }
  for (const ColumnBlock& block : layout.blocks) {
    root["blocks"].push_back({{"dtype", name_of(block.dtype)},
                              {"width", block.width},
                              {"offset", block.offset},
                              {"bytes", block.bytes},
                              {"checksums", block.checksums}});
  }
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}

ColumnarLayout decode_layout(std::span<const std::byte> file, const std::string& path) {
  const Prologue prologue = decode_prologue(file, path);
  if (prologue.footer_offset > file.size() || prologue.footer_bytes > file.size() - prologue.footer_offset) {
    fail(path, "the footer lies outside the file; convert the source again");
  }
  const auto footer = file.subspan(prologue.footer_offset, prologue.footer_bytes);
  if (checksum(footer) != prologue.footer_checksum) {
    fail(path, "the footer is damaged (checksum); convert the source again");
  }
  std::string fault;
  try {
    ColumnarLayout layout = parse_footer({reinterpret_cast<const char*>(footer.data()), footer.size()});
    fault = fault_of(layout, static_cast<std::int64_t>(prologue.footer_offset));
    if (fault.empty()) return layout;
  } catch (const json::exception& error) {
    fault = error.what();
  } catch (const UserError& error) {
    fault = error.what();
  }
  fail(path, fmt::format("the footer makes no sense: {}", fault));
}

std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before) {
  uLong sum = before;
  while (!bytes.empty()) {
    const std::size_t count = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    sum = crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(count));
    bytes = bytes.subspan(count);
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace headway::data
