#include "backend/cpu/rows_product.h"

namespace headway::backend {
namespace {

constexpr std::int64_t kFew = 4;
constexpr std::int64_t kFewRowTiles = 4;  // more: panels are packed once for all

// Rows and columns of a matrix as they lie in memory.
gemm::Block block_of(const gemm::Matrix& b, std::int64_t rows, std::int64_t columns) {
  if (b.column_stride == 1) return {b.data, rows, columns, b.row_stride};
  return {b.data, columns, rows, b.column_stride};
}

}  // namespace

RowsProduct::RowsProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_b)
    : n_(n), k_(k), transpose_b_(transpose_b), form_(Form::kPanels), grid_(grid_of_rows(m, n, k)) {
  if (n <= kFew && (transpose_b || n == 1)) {
    form_ = Form::kDots;
  } else if (k <= kFew && (!transpose_b || k == 1)) {
    form_ = Form::kRowSums;
  } else if (grid_.rows.tiles() <= kFewRowTiles) {
    form_ = Form::kOwnPanels;
  }
  if ((form_ == Form::kDots || form_ == Form::kRowSums) && grid_.tiles() > 0) {
    grid_ = {grid_of(m, 4 * (k + n)), {n, n}, grid_.inner};
  }
  packing_ = Grid{form_ == Form::kPanels ? k : 0, 64};
}

const char* RowsProduct::variant() const {
  switch (form_) {
    case Form::kDots:
      return "highway:dots";
    case Form::kRowSums:
      return "highway:row_sums";
    default:
      return "highway:gemm";
  }
}

void RowsProduct::block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                        std::int64_t end, const float* a, const float* b, const float* packed, float* c) const {
  gemm::PanelProduct product;
  product.m = rows;
  product.columns = columns;
  product.k = k_;
  product.a = a + row * k_;
  product.a_stride = std::max<std::int64_t>(k_, 1);
  product.c = c + row * n_ + column;
  product.c_stride = n_;
  switch (form_) {
    case Form::kPanels:
      product.panel = packed + column * k_;
      return gemm::multiply(product);
    case Form::kOwnPanels:
      return multiply_own(product, matrix(b).at(0, column), end - column - columns);
    case Form::kDots:
      product.panel = b;
      product.panel_stride = k_;
      return gemm::dots(product);
    case Form::kRowSums:
      product.panel = b;
      product.panel_stride = n_;
      return gemm::row_sums(product);
  }
}

// Each depth of a panel is packed into the L1 cache, where it is used.
void RowsProduct::multiply_own(gemm::PanelProduct product, const gemm::Matrix& b, std::int64_t columns_left) const {
  alignas(64) float panel[gemm::kPanelFloats];  // NOLINT(modernize-avoid-c-arrays): not initialised
  product.panel = panel;
  const std::int64_t step = gemm::depth_of(k_);
  std::int64_t first = 0;
  do {
    product.k = std::min(step, k_ - first);
    gemm::pack_b(b.at(first, 0), product.k, product.columns, 0, product.k, panel);
    const std::int64_t next = first + product.k;
    if (next < k_) {
      product.ahead = block_of(b.at(next, 0), std::min(step, k_ - next), product.columns);
    } else if (columns_left > 0) {
      product.ahead =
          block_of(b.at(0, product.columns), std::min(step, k_), std::min(columns_left, gemm::panel_columns()));
    } else {
      product.ahead = {};
    }
    gemm::multiply(product);
    product.a += product.k;
    product.add = true;
    first += product.k;
  } while (first < k_);
}

}  // namespace headway::backend
