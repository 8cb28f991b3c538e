#include "data/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "base/error.h"
#include "data/gzip.h"

namespace headway::data {
namespace {

constexpr std::int64_t kUnsignedBytes = 8;

std::int64_t big_endian_32(const std::string& bytes, std::size_t at) {
  std::int64_t value = 0;
  for (std::size_t byte = at; byte < at + 4; ++byte) value = value << 8 | static_cast<unsigned char>(bytes[byte]);
  return value;
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, std::int64_t rank) {
  std::string content = read_maybe_gzip(path);
  const auto fail = [&](const std::string& reason) { throw UserError(fmt::format("{}: {}", path.string(), reason)); };

  const std::size_t header = 4 + 4 * static_cast<std::size_t>(rank);
  if (content.size() < header) fail(fmt::format("{} bytes are too few for an IDX header", content.size()));
  const std::int64_t magic = big_endian_32(content, 0), wanted = kUnsignedBytes << 8 | rank;
  if (magic != wanted) {
    fail(fmt::format("not an IDX file of unsigned bytes in {} dimensions: the magic is 0x{:08x}, not 0x{:08x}", rank,
                     magic, wanted));
  }

  IdxArray array;
  std::int64_t values = 1;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t dim = big_endian_32(content, 4 + 4 * static_cast<std::size_t>(axis));
    if (dim > 0 && values > std::numeric_limits<std::int64_t>::max() / dim) fail("the dimensions overflow 64 bits");
    array.dims.push_back(dim);
    values *= dim;
  }
  const auto present = static_cast<std::int64_t>(content.size() - header);
  if (present != values) {
    fail(fmt::format("{}: {} bytes of values, [{}] needs {}", present < values ? "cut short" : "too long", present,
                     fmt::join(array.dims, ", "), values));
  }
  content.erase(0, header);
  array.values = std::move(content);
  return array;
}

}  // namespace headway::data
