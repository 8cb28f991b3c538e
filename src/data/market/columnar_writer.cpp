#include "data/market/columnar_writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "data/market/columnar_file.h"

namespace headway::data {
namespace {

constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20;

[[noreturn]] void fail(const char* verb, const std::filesystem::path& path, int code) {
  throw EnvironmentError(fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(code)));
}

std::int64_t aligned(std::int64_t offset) {
  return (offset + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

}  // namespace

// One block on its way to the file: a buffer of whole rows, the running checksum, and a file that vanishes with it.
class ColumnarWriter::Spool {
 public:
  Spool(std::filesystem::path path, std::int64_t row_bytes)
      : path_(std::move(path)), row_bytes_(row_bytes), buffer_(static_cast<std::size_t>(buffered(row_bytes))) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail("create", path_, errno);
  }
  ~Spool() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  std::byte* row() { return buffer_.data() + used_; }
  void end_row() {
    used_ += row_bytes_;
    if (used_ == static_cast<std::int64_t>(buffer_.size())) flush();
  }
  void flush() {
    const std::span<const std::byte> bytes(buffer_.data(), static_cast<std::size_t>(used_));
    add_checksums(bytes);
    write(bytes);
    used_ = 0;
  }
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail("write", path_, written < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      end_ += written;
    }
  }
  // Zeros up to `offset`.
  void pad_to(std::int64_t offset) {
    const std::array<std::byte, kBlockAlignment> zeros = {};
    while (end_ < offset)
      write(std::span(zeros).first(static_cast<std::size_t>(std::min(offset - end_, kBlockAlignment))));
  }
  void append(Spool& other) {
    if (::lseek(other.descriptor_, 0, SEEK_SET) != 0) fail("read", other.path_, errno);
    for (;;) {
      const ssize_t count = ::read(other.descriptor_, buffer_.data(), buffer_.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("read", other.path_, errno);
      if (count == 0) return;
      write(std::span(buffer_).first(static_cast<std::size_t>(count)));
    }
  }
  void write_start(std::span<const std::byte> bytes) {
    if (::pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      fail("write", path_, errno);
    }
  }
  // Durable, then under its own name.
  void publish(const std::filesystem::path& name) {
    if (::fsync(descriptor_) != 0) fail("sync", path_, errno);
    ColumnarFile(path_).verify(nullptr);
    if (::rename(path_.c_str(), name.c_str()) != 0) fail("replace", name, errno);
    path_.clear();
    sync_directory(name.has_parent_path() ? name.parent_path() : ".");
  }

  std::int64_t end() const { return end_; }
  std::vector<std::uint32_t> checksums() const {
    std::vector<std::uint32_t> all = checksums_;
    if (in_chunk_ > 0) all.push_back(running_);
    return all;
  }

 private:
  static std::int64_t buffered(std::int64_t row_bytes) {
    return std::max<std::int64_t>(1, kBufferBytes / row_bytes) * row_bytes;
  }
  void add_checksums(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto count = std::min(bytes.size(), static_cast<std::size_t>(kChecksumBytes - in_chunk_));
      running_ = checksum(bytes.first(count), running_);
      in_chunk_ += static_cast<std::int64_t>(count);
      bytes = bytes.subspan(count);
      if (in_chunk_ < kChecksumBytes) continue;
      checksums_.push_back(running_);
      running_ = 0;
      in_chunk_ = 0;
    }
  }

  std::filesystem::path path_;
  std::int64_t row_bytes_;
  std::vector<std::byte> buffer_;
  std::int64_t used_ = 0;
  std::int64_t end_ = 0;
  int descriptor_ = -1;
  std::vector<std::uint32_t> checksums_;
  std::uint32_t running_ = 0;
  std::int64_t in_chunk_ = 0;
};

ColumnarWriter::ColumnarWriter(std::filesystem::path path, std::vector<Column> columns, std::string origin)
    : path_(std::move(path)) {
  std::set<std::string> names;
  for (const Column& column : columns) {
    if (column.name.empty()) throw UserError(fmt::format("{}: a column without a name", path_.string()));
    if (!names.insert(column.name).second) {
      throw UserError(fmt::format("{}: two columns are named '{}'", path_.string(), column.name));
    }
  }
  if (columns.empty()) throw UserError(fmt::format("{}: no columns to write", path_.string()));
  std::error_code none_there, error;
  if (std::filesystem::is_directory(path_, none_there)) {
    throw UserError(fmt::format("{} is a directory, a file name is needed", path_.string()));
  }
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
  if (error) fail("create the folder", path_.parent_path(), error.value());
  layout_.columns = std::move(columns);
  layout_.origin = std::move(origin);
  layout_.blocks = blocks_of(layout_.columns);
  for (const ColumnBlock& block : layout_.blocks) {
    spools_.push_back(std::make_unique<Spool>(fmt::format("{}.{}.{}.tmp", path_.string(), ::getpid(), spools_.size()),
                                              block.width * size_of(block.dtype)));
  }
  spools_[0]->pad_to(kPrologueBytes);
}

ColumnarWriter::~ColumnarWriter() = default;

void ColumnarWriter::begin_segment() {
  new_segment_ = true;
}

std::byte* ColumnarWriter::row_bytes(DType dtype) {
  for (std::size_t index = 0; index < spools_.size(); ++index) {
    if (layout_.blocks[index].dtype == dtype) return spools_[index]->row();
  }
  throw InternalError(fmt::format("no column of dtype {}", name_of(dtype)));
}

template <>
float* ColumnarWriter::row<float>() {
  return reinterpret_cast<float*>(row_bytes(DType::kF32));
}
template <>
double* ColumnarWriter::row<double>() {
  return reinterpret_cast<double*>(row_bytes(DType::kF64));
}
template <>
std::int32_t* ColumnarWriter::row<std::int32_t>() {
  return reinterpret_cast<std::int32_t*>(row_bytes(DType::kI32));
}
template <>
std::int64_t* ColumnarWriter::row<std::int64_t>() {
  return reinterpret_cast<std::int64_t*>(row_bytes(DType::kI64));
}

void ColumnarWriter::end_row() {
  if (new_segment_) layout_.segments.push_back(layout_.rows);
  new_segment_ = false;
  ++layout_.rows;
  for (const auto& spool : spools_) spool->end_row();
}

void ColumnarWriter::finish() {
  for (std::size_t index = 0; index < spools_.size(); ++index) {
    Spool& spool = *spools_[index];
    ColumnBlock& block = layout_.blocks[index];
    spool.flush();
    block.checksums = spool.checksums();
    block.bytes = layout_.rows * block.width * size_of(block.dtype);
    block.offset = index == 0 ? kPrologueBytes : aligned(spools_[0]->end());
    if (index == 0) continue;
    spools_[0]->pad_to(block.offset);
    spools_[0]->append(spool);
  }
  Spool& file = *spools_[0];
  file.pad_to(aligned(file.end()));
  const std::string footer = encode_footer(layout_);
  const std::int64_t footer_offset = file.end();
  file.write(std::as_bytes(std::span(footer)));
  file.write_start(encode_prologue(file.end(), footer_offset, footer));
  file.publish(path_);
}

}  // namespace headway::data
