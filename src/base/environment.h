// The one place that reads environment variables and asks the operating system about this process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace headway {

// The value of an environment variable, or nothing when unset or empty.
std::optional<std::string> environment_variable(const std::string& name);

// Where Headway keeps results and the measured cluster file: $HEADWAY_HOME, else $XDG_DATA_HOME/headway, else
// ~/.local/share/headway. Not created.
std::filesystem::path user_data_directory();

// The processor numbers this process was allowed to run on when it first asked, ascending. Pinned threads do not
// change the answer.
std::vector<int> allowed_cpus();

// Memory of the machine.
Bytes physical_memory();

// Largest resident set of this process so far, or since it was last forgotten.
Bytes peak_resident_bytes();

// Gives free heap memory back and lets the peak begin anew, where the kernel allows it; else it stays what it was.
void forget_peak_resident();

}  // namespace headway
