// Text for people: nearest names, sizes, times.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/units.h"

namespace headway {

// The name with the smallest edit distance to `word`, or "" when none is near (distance over half its length).
std::string nearest(std::string_view word, std::span<const std::string> names);

// "; did you mean 'x'?" or "; known: a, b, c" when none is near.
std::string suggestion(std::string_view word, std::span<const std::string> names);

// "1.5 MiB", "312 B".
std::string format_bytes(Bytes bytes);

// "12.3 ms", "4.5 us", "2.1 s".
std::string format_seconds(Seconds time);

// "1.23 M", "45.6 k": three digits and an SI prefix.
std::string format_si(double value);

}  // namespace headway
