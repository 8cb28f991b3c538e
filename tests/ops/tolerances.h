// How far a kernel may be from the fp64 reference: one table, keyed by op and dtype.
#pragma once

#include <optional>
#include <span>

#include "graph/op.h"

namespace headway::ops_test {

// |found - expected| <= absolute + relative * |expected|; integers must be equal.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

struct ToleranceRow {
  const graph::Op& (*op)();
  DType dtype;  // of the first floating-point operand
  Tolerance tolerance;
};

// Every row, in the order of tolerances.cpp.
std::span<const ToleranceRow> tolerance_table();

// Nothing when the table has no row.
std::optional<Tolerance> tolerance_of(const graph::Op& op, DType dtype);

}  // namespace headway::ops_test
