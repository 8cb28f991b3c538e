#include "base/error.h"

#include <fmt/core.h>

#include <string_view>

namespace headway {

void fail_check(const char* file, int line, const char* condition, const std::string& values) {
  std::string_view path(file);
  if (const auto cut = path.rfind("src/"); cut != std::string_view::npos) path.remove_prefix(cut);
  throw InternalError(fmt::format("{}:{}: check failed: {}: {}", path, line, condition, values));
}

}  // namespace headway
