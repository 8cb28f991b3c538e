#include "backend/cpu/rows_product.h"

namespace headway::backend {
namespace {

constexpr std::int64_t kFew = 4;

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

gemm::PanelProduct RowsProduct::product_of(std::int64_t row, std::int64_t rows, std::int64_t column,
                                           std::int64_t columns, const float* a, float* c) const {
  gemm::PanelProduct product;
  product.m = rows;
  product.columns = columns;
  product.k = k_;
  product.a = a + row * k_;
  product.a_stride = std::max<std::int64_t>(k_, 1);
  product.c = c + row * n_ + column;
  product.c_stride = n_;
  return product;
}

void RowsProduct::block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, const float* a,
                        const float* b, const float* packed, float* c) const {
  gemm::PanelProduct product = product_of(row, rows, column, columns, a, c);
  if (form_ == Form::kPanels) {
    product.panel = packed + column * k_;
    gemm::multiply(product);
  } else {
    product.panel = b;
    product.panel_stride = form_ == Form::kDots ? k_ : n_;
    if (form_ == Form::kDots) {
      gemm::dots(product);
    } else {
      gemm::row_sums(product);
    }
  }
}

// Packed into the L1 cache, where it is used; what is packed next is fetched meanwhile.
void RowsProduct::own_panel(const Piece& piece, const float* a, const float* b, float* c) const {
  alignas(64) float panel[gemm::kPanelFloats];  // NOLINT(modernize-avoid-c-arrays): not initialised
  const std::int64_t depth = gemm::depth_of(k_), width = gemm::panel_columns();
  gemm::PanelProduct product = product_of(piece.row, piece.rows, piece.column, piece.columns, a, c);
  product.k = std::min(depth, k_ - piece.inner);
  product.a += piece.inner;
  product.add = piece.inner > 0;
  product.panel = panel;
  gemm::pack_b(matrix(b).at(piece.inner, piece.column), product.k, piece.columns, 0, product.k, panel);
  std::int64_t next_inner = piece.inner, next_column = piece.column + piece.columns;
  if (next_column == piece.last_column) {
    next_inner += product.k;
    next_column = piece.first_column;
  }
  if (next_inner < k_) {
    product.ahead = block_of(matrix(b).at(next_inner, next_column), std::min(depth, k_ - next_inner),
                             std::min(width, piece.last_column - next_column));
  }
  gemm::multiply(product);
}

}  // namespace headway::backend
