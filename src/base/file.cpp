#include "base/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"

namespace headway {
namespace {

[[noreturn]] void fail(const char* verb, const std::filesystem::path& path, int code) {
  throw EnvironmentError(fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(code)));
}

void write_all(int descriptor, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write", path, written < 0 ? errno : ENOSPC);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor) != 0) fail("sync", path, errno);
}

// A device, a pipe or a terminal is written to and never replaced; a directory is an error.
void write_special(const std::filesystem::path& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail("write", path, errno);
  int code = 0;
  while (!content.empty() && code == 0) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    if (written <= 0 && errno != EINTR) code = written < 0 ? errno : ENOSPC;
  }
  ::close(descriptor);
  if (code != 0) fail("write", path, code);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw UserError(fmt::format("no such file: {}", path.string()));
  if (std::filesystem::is_directory(path, ignored)) {
    throw UserError(fmt::format("{} is a directory, a file is needed", path.string()));
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("read", path, errno);
  std::string content((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad()) fail("read", path, errno);
  return content;
}

void write_file_atomic(const std::filesystem::path& path, std::string_view content) {
  std::error_code status;
  if (std::filesystem::exists(path, status) && !std::filesystem::is_regular_file(path, status)) {
    write_special(path, content);
    return;
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail("create the folder", folder, error.value());
  const std::filesystem::path beside = path.string() + fmt::format(".{}.tmp", ::getpid());
  const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("create", beside, errno);
  try {
    write_all(descriptor, content, path);
  } catch (...) {
    ::close(descriptor);
    ::unlink(beside.c_str());
    throw;
  }
  ::close(descriptor);
  if (::rename(beside.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::unlink(beside.c_str());
    fail("replace", path, code);
  }
  sync_directory(folder);
}

void sync_directory(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail("open", directory, errno);
  const int result = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  if (result != 0 && code != EINVAL) fail("sync", directory, code);
}

}  // namespace headway
