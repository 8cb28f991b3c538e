#include "backend/cpu/rows_product.h"

namespace headway::backend {
namespace {

constexpr std::int64_t kFew = 4;

}  // namespace

RowsProduct::RowsProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_b)
    : n_(n), k_(k), transpose_b_(transpose_b), form_(Form::kPanels), grid_(grid_of_rows(m, n, k)) {
  if (n <= kFew && (transpose_b || n == 1)) {
    form_ = Form::kDots;
  } else if (k <= kFew && (!transpose_b || k == 1)) {
    form_ = Form::kRowSums;
  }
  if (form_ != Form::kPanels && grid_.tiles() > 0) {
    grid_ = {grid_of(m, 4 * (k + n)), {n, n}, grid_.inner};
  }
  packing_ = Grid{form_ == Form::kPanels && grid_.tiles() > 0 ? k : 0, 64};
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

void RowsProduct::block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, const float* a,
                        const float* b, const float* packed, float* c) const {
  gemm::PanelProduct product;
  product.m = rows;
  product.columns = columns;
  product.k = k_;
  product.a = a + row * k_;
  product.a_stride = std::max<std::int64_t>(k_, 1);
  product.c = c + row * n_ + column;
  product.c_stride = n_;
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

}  // namespace headway::backend
