#include "data/market/columnar_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace headway::data {
namespace {

template <class T>
double value_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return static_cast<double>(value);
}

std::span<const std::byte> map_file(const std::filesystem::path& path) {
  const auto fail = [&](int code) {
    throw EnvironmentError(fmt::format("cannot read {}: {}", path.string(), std::strerror(code)));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) throw UserError(fmt::format("no such file: {}", path.string()));
  if (descriptor < 0) fail(errno);
  struct stat status = {};
  const int result = ::fstat(descriptor, &status);
  if (result == 0 && !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw UserError(fmt::format("{} is not a file, a columnar file is needed", path.string()));
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* memory = result == 0 && bytes > 0 ? ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0) : nullptr;
  const int code = errno;
  ::close(descriptor);
  if (result != 0 || memory == MAP_FAILED) fail(code);
  return {static_cast<const std::byte*>(memory), memory == nullptr ? 0 : bytes};
}

}  // namespace

double ColumnView::operator[](std::int64_t row) const {
  const std::byte* at = start + row * stride;
  switch (dtype) {
    case DType::kF32:
      return value_at<float>(at);
    case DType::kF64:
      return value_at<double>(at);
    case DType::kI32:
      return value_at<std::int32_t>(at);
    default:
      return value_at<std::int64_t>(at);
  }
}

ColumnarFile::ColumnarFile(const std::filesystem::path& path) : path_(path), mapped_(map_file(path)) {
  try {
    layout_ = decode_layout(mapped_, path.string());
  } catch (...) {
    if (!mapped_.empty()) ::munmap(const_cast<std::byte*>(mapped_.data()), mapped_.size());
    throw;
  }
}

ColumnarFile::~ColumnarFile() {
  ::munmap(const_cast<std::byte*>(mapped_.data()), mapped_.size());
}

std::span<const std::byte> ColumnarFile::block(DType dtype) const {
  for (const ColumnBlock& block : layout_.blocks) {
    if (block.dtype == dtype) {
      return mapped_.subspan(static_cast<std::size_t>(block.offset), static_cast<std::size_t>(block.bytes));
    }
  }
  return {};
}

std::optional<ColumnView> ColumnarFile::find(std::string_view name) const {
  for (std::size_t index = 0; index < layout_.columns.size(); ++index) {
    const Column& column = layout_.columns[index];
    if (column.name != name) continue;
    std::int64_t before = 0, width = 0;
    for (std::size_t other = 0; other < layout_.columns.size(); ++other) {
      if (layout_.columns[other].dtype != column.dtype) continue;
      ++width;
      before += other < index;
    }
    return ColumnView{block(column.dtype).data() + before * size_of(column.dtype), width * size_of(column.dtype),
                      column.dtype};
  }
  return std::nullopt;
}

void ColumnarFile::verify(Progress* progress) const {
  std::int64_t done = 0;
  for (const ColumnBlock& block : layout_.blocks) {
    const std::int64_t row_bytes = block.width * size_of(block.dtype);
    for (std::size_t chunk = 0; chunk < block.checksums.size(); ++chunk) {
      const std::int64_t first = static_cast<std::int64_t>(chunk) * kChecksumBytes;
      const std::int64_t bytes = std::min(kChecksumBytes, block.bytes - first);
      const auto content =
          mapped_.subspan(static_cast<std::size_t>(block.offset + first), static_cast<std::size_t>(bytes));
      if (checksum(content) != block.checksums[chunk]) {
        throw UserError(
            fmt::format("{}: the {} columns are damaged within rows {} to {} (checksum); copy or convert it "
                        "again",
                        path_.string(), name_of(block.dtype), first / row_bytes, (first + bytes - 1) / row_bytes));
      }
      done += bytes;
      if (progress != nullptr) progress->update("verify", done >> 20, file_bytes() >> 20, "MiB");
    }
  }
}

}  // namespace headway::data
