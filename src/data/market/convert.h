// CSV and LOBSTER files into one columnar file, in a stream.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"

namespace headway::data {

enum class InputFormat : std::uint8_t { kAuto, kCsv, kLobster };
// What becomes of a missing cell (empty, NaN, NA, null; of LOBSTER: an empty level of the book).
enum class Fill : std::uint8_t { kNone, kForward, kZero, kDrop };

// By the names of the command line. InternalError for another name.
InputFormat format_from_name(std::string_view name);
Fill fill_from_name(std::string_view name);

struct ConvertOptions {
  std::vector<std::filesystem::path> inputs = {};
  std::filesystem::path output = {};
  InputFormat format = InputFormat::kAuto;
  Fill fill = Fill::kNone;
  std::vector<std::string> types = {};  // "close=f64"
  Progress* progress = nullptr;
};

struct ConvertReport {
  std::int64_t filled = 0;   // cells
  std::int64_t dropped = 0;  // rows
  std::vector<std::string> notes = {};
};

// Writes `output` from all inputs, each a segment. Every fault of an input is a UserError that names file, row and
// column; nothing is then left of the output.
ConvertReport convert(const ConvertOptions& options);

// The two formats. CSV: the first line names the columns; types are given or inferred from the first rows. LOBSTER
// (https://lobsterdata.com): order-book files alone or with their message files, checked against each other.
ConvertReport convert_csv(const ConvertOptions& options);
ConvertReport convert_lobster(const ConvertOptions& options);

}  // namespace headway::data
