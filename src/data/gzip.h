// Files that may be compressed.
#pragma once

#include <filesystem>
#include <string>

namespace headway::data {

// The content of a file, unpacked if it starts with the gzip magic. UserError names the file when it is missing, cut
// short, corrupt (a wrong checksum) or followed by other bytes.
std::string read_maybe_gzip(const std::filesystem::path& path);

}  // namespace headway::data
