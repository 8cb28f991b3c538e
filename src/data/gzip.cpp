#include "data/gzip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/file.h"

namespace headway::data {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, and a gzip header with its checksum

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw UserError(fmt::format("{}: {}", path.string(), reason));
}

std::string unpack(const std::string& packed, const std::filesystem::path& path) {
  if (packed.size() > std::numeric_limits<uInt>::max()) fail(path, "a gzip file of over 4 GiB");
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw EnvironmentError("zlib does not start: out of memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib does not write there
  stream.avail_in = static_cast<uInt>(packed.size());

  std::string content;
  std::string piece(std::size_t{1} << 18, '\0');
  for (int code = Z_OK; code != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_BUF_ERROR) fail(path, fmt::format("the gzip file is cut short after {} bytes", packed.size()));
    if (code == Z_MEM_ERROR) throw EnvironmentError(fmt::format("out of memory while unpacking {}", path.string()));
    if (code != Z_OK && code != Z_STREAM_END) {
      fail(path, fmt::format("the gzip file is corrupt: {}", stream.msg == nullptr ? "no reason given" : stream.msg));
    }
    content.append(piece.data(), piece.size() - stream.avail_out);
  }
  if (stream.avail_in > 0) fail(path, fmt::format("{} bytes follow the end of the gzip data", stream.avail_in));
  return content;
}

}  // namespace

std::string read_maybe_gzip(const std::filesystem::path& path) {
  std::string content = read_file(path);
  return content.starts_with("\x1f\x8b") ? unpack(content, path) : content;
}

}  // namespace headway::data
