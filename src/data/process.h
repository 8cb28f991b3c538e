// A helper program and what it prints.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"

namespace headway::data {

// Runs `command` (a program found on the path and its arguments; no shell), with no input, and returns its standard
// output. EnvironmentError names the command when it is missing, fails (with its standard error), or is not done by the
// deadline, when it is killed.
std::string output_of(const std::vector<std::string>& command, Seconds deadline);

}  // namespace headway::data
