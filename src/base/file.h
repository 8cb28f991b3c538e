// Whole files: read with errors that name the path, written so that a crash leaves the old file or the new one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headway {

// The bytes of a file. UserError when it does not exist or is a directory, EnvironmentError when it cannot be read.
std::string read_file(const std::filesystem::path& path);

// A regular file: writes beside the old file, syncs file and folder, renames. Creates the folder. EnvironmentError
// names the path and the system's reason (disk full, no permission); the old file is then untouched and the partial one
// removed. Anything else that exists (a device, a pipe) is written to in place.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);

// Syncs a directory so that a rename in it is durable.
void sync_directory(const std::filesystem::path& directory);

}  // namespace headway
