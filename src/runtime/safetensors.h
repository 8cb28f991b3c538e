// safetensors files: a JSON header of names, types, shapes and offsets, then the raw little-endian data
// (https://github.com/huggingface/safetensors, "Format").
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace headway::runtime {

struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;
};

// Writes the tensors in the given order, synced. EnvironmentError naming the path (disk full, no permission); a partial
// file is removed. `metadata` goes into the header's "__metadata__". Returns the CRC-32 of the whole file.
std::uint32_t write_safetensors(const std::filesystem::path& path, const std::vector<TensorView>& tensors,
                                const std::map<std::string, std::string>& metadata = {});

// A file read into memory, its header checked.
class SafetensorsFile {
 public:
  // UserError naming the file for anything malformed: a header that is cut short, too long or no JSON, an unknown
  // dtype, offsets outside the file or not matching the shape.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorView* find(const std::string& name) const;
  std::uint32_t crc() const { return crc_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string content_;
  std::vector<TensorView> tensors_;
  std::uint32_t crc_ = 0;
};

}  // namespace headway::runtime
