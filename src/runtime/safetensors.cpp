#include "runtime/safetensors.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"

namespace headway::runtime {
namespace {

using nlohmann::json;

struct Name {
  DType dtype;
  const char* text;
};
constexpr std::array<Name, 8> kNames = {{{DType::kF32, "F32"},
                                         {DType::kF64, "F64"},
                                         {DType::kF16, "F16"},
                                         {DType::kBF16, "BF16"},
                                         {DType::kI8, "I8"},
                                         {DType::kU8, "U8"},
                                         {DType::kI32, "I32"},
                                         {DType::kI64, "I64"}}};

// A header of this size would describe a million tensors.
constexpr std::uint64_t kHeaderLimit = 100 << 20;

std::uint32_t crc_of(std::uint32_t crc, const char* data, std::size_t size) {
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(data), size));
}

std::string header_of(const std::vector<TensorView>& tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    header[tensor.name] = {{"dtype", kNames[static_cast<std::size_t>(tensor.dtype)].text},
                           {"shape", tensor.shape.dims()},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data starts aligned
  return text;
}

// A file that is removed unless it was completed.
class PartialFile {
 public:
  explicit PartialFile(const std::filesystem::path& path)
      : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail("create");
  }
  ~PartialFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  void write(const char* data, std::size_t size) {
    crc_ = crc_of(crc_, data, size);
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, data, size);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail("write");
      data += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  std::uint32_t complete() {
    if (::fsync(descriptor_) != 0) fail("sync");
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("close");
    return crc_;
  }

 private:
  [[noreturn]] void fail(const char* verb) const {
    throw EnvironmentError(fmt::format("cannot {} {}: {}", verb, path_.string(), std::strerror(errno)));
  }

  std::filesystem::path path_;
  int descriptor_;
  std::uint32_t crc_ = 0;
};

}  // namespace

std::uint32_t write_safetensors(const std::filesystem::path& path, const std::vector<TensorView>& tensors,
                                const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(tensors, metadata);
  const auto length = static_cast<std::uint64_t>(header.size());
  PartialFile file(path);
  std::array<char, 8> prefix{};
  std::memcpy(prefix.data(), &length, sizeof(length));
  file.write(prefix.data(), prefix.size());
  file.write(header.data(), header.size());
  for (const TensorView& tensor : tensors) {
    file.write(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return file.complete();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path.string()), content_(read_file(path)) {
  const auto reject = [&](const std::string& why) {
    throw UserError(fmt::format("{}: not a whole safetensors file: {}", path_, why));
  };
  crc_ = crc_of(0, content_.data(), content_.size());
  std::uint64_t length = 0;
  if (content_.size() < sizeof(length)) reject(fmt::format("{} bytes, the header alone needs 8", content_.size()));
  std::memcpy(&length, content_.data(), sizeof(length));
  if (length > kHeaderLimit || length > content_.size() - 8) {
    reject(fmt::format("its header says {} bytes, the file has {}", length, content_.size()));
  }
  const auto data = std::as_bytes(std::span(content_)).subspan(8 + length);
  const json header =
      json::parse(content_.begin() + 8, content_.begin() + 8 + static_cast<std::ptrdiff_t>(length), nullptr, false);
  if (!header.is_object()) reject("its header is no JSON object");
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    try {
      const auto dtype_text = entry.at("dtype").get<std::string>();
      const auto dims = entry.at("shape").get<std::vector<std::int64_t>>();
      const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
      const auto* row = std::find_if(kNames.begin(), kNames.end(), [&](const Name& n) { return n.text == dtype_text; });
      if (row == kNames.end()) reject(fmt::format("tensor '{}' has the unknown dtype '{}'", name, dtype_text));
      for (const std::int64_t dim : dims) {
        if (dim < 0 || dim > (std::int64_t{1} << 40)) reject(fmt::format("tensor '{}' has the extent {}", name, dim));
      }
      const Shape shape(dims);
      if (offsets[0] > offsets[1] || offsets[1] > data.size()) {
        reject(fmt::format("tensor '{}' ends at byte {}, the data has {}", name, offsets[1], data.size()));
      }
      if (static_cast<std::uint64_t>(shape.elements() * size_of(row->dtype)) != offsets[1] - offsets[0]) {
        reject(fmt::format("tensor '{}' of shape {} has {} bytes", name, to_string(shape), offsets[1] - offsets[0]));
      }
      tensors_.push_back({name, row->dtype, shape, data.subspan(offsets[0], offsets[1] - offsets[0])});
    } catch (const json::exception& error) {
      reject(fmt::format("tensor '{}': {}", name, error.what()));
    }
  }
}

const TensorView* SafetensorsFile::find(const std::string& name) const {
  for (const TensorView& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace headway::runtime
