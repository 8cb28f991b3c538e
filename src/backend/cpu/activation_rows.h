// Activations applied to a block of rows in place: what a product's tile calls when its sums are complete.
#pragma once

#include <cstdint>

#include "graph/ops/activation.h"

namespace headway::backend {

// y = kind(y + bias) for `rows` rows of `columns` elements, in place; row i of y starts at y + i * y_stride.
// bias [columns] may be null; pre, which may be null, gets the value before the activation.
void bias_activation_rows(graph::Activation kind, const float* bias, float* y, std::int64_t y_stride, float* pre,
                          std::int64_t pre_stride, std::int64_t rows, std::int64_t columns);

}  // namespace headway::backend
