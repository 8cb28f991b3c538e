// A checked Run out of a tree.
#pragma once

#include "record/run.h"
#include "record/yaml_tree.h"

namespace headway::record {

// Types, ranges and the rules between settings. UserError names place, key, value and what would be right.
Run read_run(const Node& root);

}  // namespace headway::record
