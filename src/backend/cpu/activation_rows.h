// Activations on a few rows that are in cache: of a product's complete sums, or of the gradients that it will read.
#pragma once

#include <cstdint>

#include "graph/ops/activation.h"

namespace headway::backend {

// y = kind(y + bias) for `rows` rows of `columns` elements, in place; row i of y starts at y + i * y_stride.
// bias [columns] may be null; pre, which may be null, gets the value before the activation.
void bias_activation_rows(graph::Activation kind, const float* bias, float* y, std::int64_t y_stride, float* pre,
                          std::int64_t pre_stride, std::int64_t rows, std::int64_t columns);

// dx = dy * the derivative of `kind`, n elements; `saved` is what activation_grad reads (the output, or the input).
void activation_gradient(graph::Activation kind, const float* dy, const float* saved, float* dx, std::int64_t n);

}  // namespace headway::backend
