#include "data/kjv.h"

#include <fmt/core.h>

#include "base/error.h"
#include "data/process.h"

namespace headway::data {
namespace {

constexpr Seconds kDeadline{60};  // it takes a quarter of a second

}  // namespace

std::string read_kjv() {
  // -f: one verse a line, unwrapped. -p: by default a file bible.data in the current directory would come first.
  std::string text;
  try {
    text = output_of({"bible", "-p", "/usr/lib", "-f", "gen1:1-rev22:21"}, kDeadline);
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(fmt::format("kjv: {}; apt-get install bible-kjv bible-kjv-text", error.what()));
  }
  if (!text.starts_with("Ge1:1 In the beginning") || !text.ends_with("Amen.\n")) {
    throw EnvironmentError(
        fmt::format("kjv: `bible` printed {} bytes that are not the Bible from Ge1:1 to Rev22:21", text.size()));
  }
  return text;
}

}  // namespace headway::data
