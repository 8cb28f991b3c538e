// Products whose operands are read where they lie: the micro-kernel of convolutions.
//
// c [row, :] = sum over the inner axis of a[row, i] b[i, :], where row r of a starts at any offset, and the inner axis
// is a list of runs: run s holds `count` elements, a_step apart, from `at` on, counted from the row's start. With x in
// channels-last layout all three products of a convolution have this form, and no im2col matrix is made:
//
//   result      a row is                    a run is                                 b is
//   y           an output position          a tap: its channels                      packed weights
//   dx          an input position           a tap: its channels, of dy               packed weights, transposed
//   dw          a tap and input channel     a row of output positions                dy in place
//
// Where taps touch (dilation 1 along the width), their runs are one. The list of row offsets is what Dukhan calls an
// indirection buffer ("The Indirect Convolution Algorithm", 2019), here of offsets, so it is made once for all tiles.
#pragma once

#include <cstdint>

namespace headway::backend::shifted {

struct Run {
  std::int64_t at = 0, count = 0;
};

// Columns are at most panel_columns(); where they are no whole number of vectors and b is read in place, only the
// columns are read. Depths that should stay in the L1 cache are the caller's to choose.
struct Product {
  std::int64_t rows = 0, columns = 0;
  const float* a = nullptr;
  const std::int64_t* a_rows = nullptr;  // offsets of the rows of a
  const Run* runs = nullptr;
  std::int64_t run_count = 0, a_step = 1;
  const float* b = nullptr;  // its rows follow the runs, b_stride apart
  std::int64_t b_stride = 0;
  float* c = nullptr;
  const std::int64_t* c_rows = nullptr;  // offsets of the rows of c
  bool add = false;                      // c + a b
};
void multiply(const Product& product);

// Floats of a vector, and the most columns of a product.
std::int64_t lanes();
std::int64_t panel_columns();

// sums [columns] = or += the sum of `rows` rows of x, which are contiguous.
void sum_rows(const float* x, std::int64_t rows, std::int64_t columns, bool add, float* sums);

}  // namespace headway::backend::shifted
