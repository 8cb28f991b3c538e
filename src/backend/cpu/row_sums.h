// Sums down the columns of a block of rows.
#pragma once

#include <cstdint>

namespace headway::backend {

// sums[j] = the sum of x[row * stride + j] over the rows, in their order; zeros for no rows.
void sum_of_rows(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums);

}  // namespace headway::backend
