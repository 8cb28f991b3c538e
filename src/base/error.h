// The three kinds of failure (docs/architecture.md): the user's input, the environment, our own bug.
// Libraries throw these; only app/ turns them into messages and exit codes.
#pragma once

#include <stdexcept>
#include <string>

namespace headway {

// The user's input is wrong: the message says what, where, and what would be right. Exit code 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The machine does not give what is needed (missing package, full disk, dead rank). Exit code 3.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken invariant of ours. Exit code 70.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError naming the place; called by HEADWAY_CHECK only.
[[noreturn]] void fail_check(const char* file, int line, const char* condition, const std::string& values);

}  // namespace headway

// Asserts an invariant of our own in every build type; `values` is evaluated only on failure.
#define HEADWAY_CHECK(condition, values) \
  ((condition) ? static_cast<void>(0) : ::headway::fail_check(__FILE__, __LINE__, #condition, (values)))
