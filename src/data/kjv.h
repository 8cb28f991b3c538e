// The King James Bible as plain text, from Debian's packages bible-kjv and bible-kjv-text.
#pragma once

#include <string>

namespace headway::data {

// 4,404,412 bytes of ASCII in 31,102 lines, one verse each (141 bytes on average, 535 at most) with its place in front,
// "Ge1:1 In the beginning God created the heaven and the earth."; 73 different bytes, the largest 'z'. Public domain.
// EnvironmentError when the program `bible` is missing, fails, or prints something else.
std::string read_kjv();

}  // namespace headway::data
