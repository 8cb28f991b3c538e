// IDX, the file format of the MNIST family (http://yann.lecun.com/exdb/mnist): two zero bytes, a type (8: unsigned
// bytes), the number of dimensions, each dimension as a big-endian 32-bit number, then the values in row-major order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headway::data {

struct IdxArray {
  std::vector<std::int64_t> dims;
  std::string values;  // unsigned bytes
};

// Reads an array of unsigned bytes with `rank` dimensions, gzip or plain. UserError names the file and what is wrong
// with it: another magic, type or rank, too few or too many values.
IdxArray read_idx(const std::filesystem::path& path, std::int64_t rank);

}  // namespace headway::data
