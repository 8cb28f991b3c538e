// A Result as text for a terminal of 80 columns.
#pragma once

#include <string>
#include <vector>

#include "record/result.h"

namespace headway::app {

// All of a result: headline figures, the breakdown by op, notes.
std::string console_text(const record::Result& result);

// One line a result, for `headway results`.
std::string console_list(const std::vector<record::Result>& results);

}  // namespace headway::app
