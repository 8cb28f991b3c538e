// Units as types, so that a cost interface cannot mix seconds with bytes.
#pragma once

#include <compare>
#include <cstdint>

namespace headway {

// A number with a unit; Tag makes each unit its own type. Sums and ratios stay in the unit, products need .value.
template <class Tag, class Number>
struct Quantity {
  Number value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Number v) : value(v) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return Quantity(value + other.value); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(value - other.value); }
  constexpr Quantity operator*(Number factor) const { return Quantity(value * factor); }
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
};

using Seconds = Quantity<struct SecondsTag, double>;
using Flops = Quantity<struct FlopsTag, double>;  // a count of floating-point operations, not a rate
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;

constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return Seconds(work.value / rate.value);
}
constexpr Seconds operator/(Bytes size, BytesPerSecond rate) {
  return Seconds(static_cast<double>(size.value) / rate.value);
}

}  // namespace headway
