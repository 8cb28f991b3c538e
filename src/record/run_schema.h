// The keys of a run file: the one list that reading, unknown-key messages and overrides share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headway::record {

// The keys of a section ("" is the top level, "train.optimizer" a nested one). `model` is open and not listed.
const std::vector<std::string>& keys_of(std::string_view section);

// The full path of a key that exactly one section has, else "": people write `--set steps=40`.
std::string home_of(std::string_view key);

}  // namespace headway::record
