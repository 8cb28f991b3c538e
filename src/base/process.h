// A child process that is talked to line by line.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace headway {

// Standard input and output of the child are lines to and from here; what it writes to standard error is kept for
// messages. It may run on every allowed core, whatever the calling thread is pinned to. Ends with this object: its
// input is closed, and what then still runs after `kGrace` is killed.
class Process {
 public:
  // `command` is a program, looked up on PATH, and its arguments; `environment` is added to ours. EnvironmentError
  // naming the program when it cannot be started.
  explicit Process(std::vector<std::string> command, const std::map<std::string, std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void write_line(const std::string& line);

  // The next line. EnvironmentError with the end of standard error when the child ends first, or says nothing so long.
  std::string read_line(Seconds timeout);

  // Closes its input and waits for its end. EnvironmentError when its status is not 0, or it does not end in time.
  void finish(Seconds timeout);

  static constexpr double kGrace = 2.0;  // seconds

 private:
  [[noreturn]] void fail(const std::string& what);
  bool ended_within(Seconds timeout);
  std::string error_text() const;

  std::string program_;
  pid_t child_ = -1;
  int socket_ = -1;
  int error_ = -1;  // a file in memory
  int status_ = 0;
  bool ended_ = false;
  std::string received_;
};

// The file of the running program.
std::string this_program();

}  // namespace headway
