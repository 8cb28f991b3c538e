// Matrix products in f32, the part of one thread: packing, and products of packed panels.
//
// After Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008), with the roles
// that fit training: c = a b, where b is packed into *panels* of a few vectors of columns, and a is read in *strips* of
// a few rows: in place when its rows are contiguous, packed when it is stored transposed. A strip times a panel, over a
// *depth* of the inner axis for which the panel stays in the L1 cache, is summed in registers. Depths are added in
// order, so the bits depend on the shape and on the instruction set only.
//
// Why not oneDNN's sgemm on tiles: weights are packed once a launch and not once a tile, nothing is allocated, and bias
// and activation run on a panel that is still in cache.
#pragma once

#include <cstdint>

namespace headway::backend::gemm {

// Element (i, j) is data[i * row_stride + j * column_stride]; one of the strides is 1.
struct Matrix {
  const float* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;

  Matrix at(std::int64_t row, std::int64_t column) const {
    return {data + row * row_stride + column * column_stride, row_stride, column_stride};
  }
};

// Sizes that the instruction set gives.
std::int64_t panel_columns();
std::int64_t strip_rows();
// The same for all: 120 rows of a panel of 48 columns are 23 KiB, and strips of that depth do not start 4 KiB apart,
// where they would fight for the same lines of the L1 cache.
inline constexpr std::int64_t kDepth = 120;

// The depth of the steps in which an inner axis of k is summed: equal ones of at most about kDepth.
constexpr std::int64_t depth_of(std::int64_t k) {
  const std::int64_t steps = (k + kDepth + kDepth / 8 - 1) / (kDepth + kDepth / 8);
  return steps == 0 ? 1 : (k + steps - 1) / steps;
}

// What a panel of one depth takes at most, in floats.
inline constexpr std::int64_t kPanelFloats = 48 * (kDepth + kDepth / 8);

// Packed b [k, n] in panels: columns [p * panel_columns(), ...) at p * panel_columns() * k; in a panel, row by row.
// Columns that the last panel has more than b are zeros, up to a whole vector.
std::int64_t packed_b_floats(std::int64_t k, std::int64_t n);
// Rows [first, first + rows) of k, into their places in `packed`.
void pack_b(const Matrix& b, std::int64_t k, std::int64_t n, std::int64_t first, std::int64_t rows, float* packed);

// Packed a [m, k] in strips: rows [s * strip_rows(), ...) at s * strip_rows() * k; in a strip, column by column.
std::int64_t packed_a_floats(std::int64_t m, std::int64_t k);
void pack_a(const Matrix& a, std::int64_t m, std::int64_t k, float* packed);

// What will be read next, brought into the L2 cache while a product runs.
struct Block {
  const float* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;  // columns: contiguous
};

// c [m, columns] = a b, or c + a b with `add`, for one panel of b; k = 0 gives zeros, or c.
struct PanelProduct {
  std::int64_t m = 0, columns = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;  // of the rows of a, which are contiguous; 0: packed
  const float* panel = nullptr;
  std::int64_t panel_stride = 0;  // of the rows of b, read in place, where `columns` are whole vectors; 0: packed
  float* c = nullptr;
  std::int64_t c_stride = 0;
  bool add = false;
  Block ahead;
};
void multiply(const PanelProduct& product);

// The same for whole products with b in place, panel_stride apart: dots takes b^T, whose rows are the columns of b;
// row_sums takes b, for a few rows of it.
void dots(const PanelProduct& product);
void row_sums(const PanelProduct& product);

// Whether multiply can read that many columns of b in place.
bool whole_vectors(std::int64_t columns);

}  // namespace headway::backend::gemm
