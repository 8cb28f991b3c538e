// `--set train.steps=40`: one setting of a run file replaced before the file is checked.
#pragma once

#include <string>

#include "record/yaml_tree.h"

namespace headway::record {

// Puts the value, read as YAML, at its path; sections that are missing are made. A wrong key is found when the tree is
// read, like one of the file. UserError for text without '=', an empty key, a path through a value.
void apply_override(Node& root, const std::string& text);

}  // namespace headway::record
