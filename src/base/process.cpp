#include "base/process.h"

#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/text.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace headway {
namespace {

// A child inherits the affinity of the thread that starts it; while this lives, that is every allowed core.
class Unpinned {
 public:
  Unpinned() {
    CPU_ZERO(&before_);
    known_ = ::sched_getaffinity(0, sizeof(before_), &before_) == 0;
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const int cpu : allowed_cpus()) CPU_SET(cpu, &all);
    static_cast<void>(::sched_setaffinity(0, sizeof(all), &all));
  }
  ~Unpinned() {
    if (known_) static_cast<void>(::sched_setaffinity(0, sizeof(before_), &before_));
  }
  Unpinned(const Unpinned&) = delete;
  Unpinned& operator=(const Unpinned&) = delete;

 private:
  cpu_set_t before_{};
  bool known_ = false;
};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Process::Process(std::vector<std::string> command, const std::map<std::string, std::string>& environment)
    : program_(command.at(0)) {
  std::array<int, 2> ends{-1, -1};
  error_ = ::memfd_create("standard error", MFD_CLOEXEC);
  if (error_ < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    const int code = errno;
    if (error_ >= 0) ::close(error_);
    throw EnvironmentError(fmt::format("cannot start {}: {}", program_, std::strerror(code)));
  }
  socket_ = ends[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, error_, STDERR_FILENO);
  std::vector<std::string> variables = merged_environment(environment);
  int code = 0;
  {
    const Unpinned unpinned;
    code = ::posix_spawnp(&child_, program_.c_str(), &actions, nullptr, pointers(command).data(),
                          pointers(variables).data());
  }
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (code == 0) return;
  ::close(socket_);
  ::close(error_);
  throw EnvironmentError(fmt::format("cannot start {}: {}", program_, std::strerror(code)));
}

Process::~Process() {
  ::shutdown(socket_, SHUT_WR);
  if (!ended_within(Seconds(kGrace))) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  ::close(socket_);
  ::close(error_);
}

std::string Process::error_text() const {
  std::string text(4096, '\0');
  const off_t size = ::lseek(error_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
  const ssize_t count = ::pread(error_, text.data(), text.size(), from);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  // The last line says what went wrong; what is before it is a traceback.
  return text.substr(text.rfind('\n') + 1);
}

void Process::fail(const std::string& what) {
  const std::string said = error_text();
  throw EnvironmentError(fmt::format("{} {}{}", program_, what, said.empty() ? "" : ": " + said));
}

void Process::write_line(const std::string& line) {
  std::string_view left = line;
  const std::string whole = line + "\n";
  left = whole;
  while (!left.empty()) {
    const ssize_t sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) {
      static_cast<void>(ended_within(Seconds(kGrace)));
      fail("does not listen any more");
    }
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string Process::read_line(Seconds timeout) {
  const Seconds end = now() + timeout;
  while (true) {
    if (const std::size_t line = received_.find('\n'); line != std::string::npos) {
      std::string result = received_.substr(0, line);
      received_.erase(0, line + 1);
      return result;
    }
    const double left = (end - now()).value;
    if (left <= 0) fail(fmt::format("said nothing for {}", format_seconds(timeout)));
    pollfd wanted{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&wanted, 1, static_cast<int>(std::min(left, 1.0) * 1e3) + 1) <= 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      static_cast<void>(ended_within(Seconds(kGrace)));
      fail("ended early");
    }
    received_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

bool Process::ended_within(Seconds timeout) {
  const Seconds end = now() + timeout;
  while (!ended_) {
    const pid_t found = ::waitpid(child_, &status_, WNOHANG);
    ended_ = found == child_ || (found < 0 && errno == ECHILD);
    if (ended_ || now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return ended_;
}

void Process::finish(Seconds timeout) {
  ::shutdown(socket_, SHUT_WR);
  if (!ended_within(timeout)) fail(fmt::format("did not end within {}", format_seconds(timeout)));
  if (WIFSIGNALED(status_)) fail(fmt::format("was ended by signal {}", WTERMSIG(status_)));
  if (WEXITSTATUS(status_) != 0) fail(fmt::format("ended with status {}", WEXITSTATUS(status_)));
}

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace headway
