// The matrix product of one tile, on the calling thread.
#pragma once

#include <cstdint>

namespace headway::backend {

// c [m, n] = op(a) op(b), row-major with row strides lda, ldb, ldc; op(a) is [m, k], stored as [k, m] with transpose_a;
// op(b) is [k, n], stored as [n, k] with transpose_b. Sizes may be 0; k = 0 gives zeros.
struct GemmShape {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
};
void gemm(const GemmShape& shape, const float* a, const float* b, float* c);

}  // namespace headway::backend
