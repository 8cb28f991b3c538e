// What a result means, in sentences.
#pragma once

#include <string>

#include "record/result.h"

namespace headway::app {

// What bounds a training step, how far the prediction was off, and whether data or memory is in the way. 80 columns.
std::string bound_in_words(const record::Result& result);

// Breaks text at spaces into lines of at most 80 columns; lines after the first are indented.
std::string wrapped(const std::string& text, std::size_t indent);

}  // namespace headway::app
