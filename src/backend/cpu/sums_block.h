// A block of c = a b where a is stored transposed, so that both operands are summed over their rows: both are packed, a
// depth at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/gemm.h"

namespace headway::backend {

class SumsBlock {
 public:
  // Blocks of at most rows x columns, packed for inner axes of about k.
  SumsBlock(std::int64_t rows, std::int64_t columns, std::int64_t k)
      : depth_(gemm::depth_of(k)),
        packed_a_(gemm::packed_a_floats(rows, depth_)),
        packed_b_(gemm::packed_b_floats(depth_, columns)) {}

  std::int64_t packed_floats() const { return packed_a_ + packed_b_; }

  // c [rows, columns] = a b over the k of the inner axis; `packed` has packed_floats().
  void run(const gemm::Matrix& a, const gemm::Matrix& b, std::int64_t rows, std::int64_t columns, std::int64_t k,
           float* packed, float* c, std::int64_t c_stride) const {
    std::int64_t first = 0;
    do {
      const std::int64_t depth = std::min(depth_, k - first);
      add(a.at(0, first), b.at(first, 0), rows, columns, depth, first > 0, packed, c, c_stride);
      first += depth;
    } while (first < k);
  }

 private:
  void add(const gemm::Matrix& a, const gemm::Matrix& b, std::int64_t rows, std::int64_t columns, std::int64_t depth,
           bool add, float* packed, float* c, std::int64_t c_stride) const {
    float* packed_b = packed + packed_a_;
    gemm::pack_a(a, rows, depth, packed);
    // With one strip of a, a panel of b is used once: it is read where it is.
    const bool in_place = rows <= gemm::strip_rows() && b.column_stride == 1 && gemm::whole_vectors(columns);
    if (!in_place) gemm::pack_b(b, depth, columns, 0, depth, packed_b);
    gemm::PanelProduct product;
    product.m = rows;
    product.k = depth;
    product.a = packed;
    product.panel_stride = in_place ? b.row_stride : 0;
    product.c_stride = c_stride;
    product.add = add;
    for (std::int64_t j = 0; j < columns; j += gemm::panel_columns()) {
      product.columns = std::min(gemm::panel_columns(), columns - j);
      product.panel = in_place ? b.data + j : packed_b + j * depth;
      product.c = c + j;
      gemm::multiply(product);
    }
  }

  std::int64_t depth_, packed_a_, packed_b_;
};

}  // namespace headway::backend
