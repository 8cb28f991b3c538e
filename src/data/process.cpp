#include "data/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"

namespace headway::data {
namespace {

// Both ends of a pipe, closed in programs started later.
struct Pipe {
  std::array<int, 2> ends = {-1, -1};

  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw EnvironmentError(fmt::format("pipe: {}", std::strerror(errno)));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(std::size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
};

// A child that is killed and reaped unless it ended by itself.
class Child {
 public:
  Child(const std::vector<std::string>& command, const Pipe& output, const Pipe& errors) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
    const int code = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw EnvironmentError(fmt::format("cannot start {}: {}", command[0], std::strerror(code)));
  }
  ~Child() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Whether it has ended; then `status` is that of waitpid.
  bool poll(int& status) {
    ended_ = ended_ || ::waitpid(pid_, &status, WNOHANG) == pid_;
    return ended_;
  }

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
};

// Appends what can be read now; closes the end at its end.
void drain(Pipe& pipe, std::string& text) {
  std::array<char, 1 << 16> piece;
  const ssize_t count = ::read(pipe.ends[0], piece.data(), piece.size());
  if (count > 0) text.append(piece.data(), static_cast<std::size_t>(count));
  if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) pipe.close_end(0);
}

}  // namespace

std::string output_of(const std::vector<std::string>& command, Seconds deadline) {
  const Seconds start = now();
  Pipe output, errors;
  Child child(command, output, errors);
  output.close_end(1);
  errors.close_end(1);

  std::string text, complaint;
  int status = 0;
  while (output.ends[0] >= 0 || errors.ends[0] >= 0 || !child.poll(status)) {
    const Seconds left = start + deadline - now();
    if (left.value <= 0) {
      throw EnvironmentError(fmt::format("'{}' is not done after {} s", fmt::join(command, " "), deadline.value));
    }
    // Nothing announces the end of a child whose output is closed, so that is looked for every 2 ms.
    const bool closed = output.ends[0] < 0 && errors.ends[0] < 0;
    std::array<pollfd, 2> waiting = {pollfd{output.ends[0], POLLIN, 0}, pollfd{errors.ends[0], POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), closed ? 2 : static_cast<int>(std::min(left.value, 60.0) * 1e3) + 1);
    if (waiting[0].revents != 0) drain(output, text);
    if (waiting[1].revents != 0) drain(errors, complaint);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string how = WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status))
                                              : fmt::format("signal {}", WTERMSIG(status));
    throw EnvironmentError(fmt::format("'{}' failed with {}: {}", fmt::join(command, " "), how, complaint));
  }
  return text;
}

}  // namespace headway::data
