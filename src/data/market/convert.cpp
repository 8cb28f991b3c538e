#include "data/market/convert.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace headway::data {

InputFormat format_from_name(std::string_view name) {
  if (name == "auto") return InputFormat::kAuto;
  if (name == "csv") return InputFormat::kCsv;
  HEADWAY_CHECK(name == "lobster", std::string(name));
  return InputFormat::kLobster;
}

Fill fill_from_name(std::string_view name) {
  if (name == "none") return Fill::kNone;
  if (name == "forward") return Fill::kForward;
  if (name == "zero") return Fill::kZero;
  HEADWAY_CHECK(name == "drop", std::string(name));
  return Fill::kDrop;
}

ConvertReport convert(const ConvertOptions& options) {
  if (options.inputs.empty()) throw UserError("convert: no input files");
  for (const std::filesystem::path& input : options.inputs) {
    std::error_code ignored;
    if (std::filesystem::equivalent(input, options.output, ignored)) {
      throw UserError(fmt::format("{} is input and output at once", input.string()));
    }
  }
  const auto is_lobster = [](const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return name.find("_orderbook_") != std::string::npos || name.find("_message_") != std::string::npos;
  };
  const bool lobster =
      options.format == InputFormat::kLobster ||
      (options.format == InputFormat::kAuto && std::all_of(options.inputs.begin(), options.inputs.end(), is_lobster));
  return lobster ? convert_lobster(options) : convert_csv(options);
}

}  // namespace headway::data
