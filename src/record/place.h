// Where a setting was written, for messages: a line of a file, or an option of the command line.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headway::record {

struct Place {
  std::string file;  // a file name, or "--set key=value"; empty for a value made by the program
  int line = 0;      // from 1; 0 when lines mean nothing

  // Two settings are equal when they say the same, wherever they stand.
  friend bool operator==(const Place&, const Place&) { return true; }
};

// "x.yaml:12: ", "--set a=b: ", or "".
std::string prefix(const Place& place);

// The error "x.yaml:12: train.steps: what"; `path` may be empty.
UserError input_error(const Place& place, std::string_view path, std::string_view what);

// The places of all settings that were given, by full key ("train.steps").
struct Places {
  std::map<std::string, Place> by_key;

  friend bool operator==(const Places&, const Places&) { return true; }
};

// User text made fit for a message: cut when long, control characters replaced.
std::string shown(std::string_view text);

}  // namespace headway::record
