// c [m, n] = a [m, k] b, where the rows of a are contiguous: the part that linear and matmul share.
#pragma once

#include "backend/cpu/product_grid.h"

namespace headway::backend {

class RowsProduct {
 public:
  RowsProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_b);

  std::int64_t packing_tiles() const { return packing_.tiles(); }
  std::int64_t tiles() const { return grid_.tiles(); }
  std::int64_t packed_floats() const { return form_ == Form::kPanels ? gemm::packed_b_floats(k_, n_) : 0; }
  const char* variant() const;

  // One tile of packing b; all must be done before the first product.
  void pack(std::int64_t tile, const float* b, float* packed) const {
    gemm::pack_b(matrix(b), k_, n_, packing_.begin(tile), packing_.length(tile), packed);
  }

  // One tile of the product. finish(row, rows, column, columns) is called for every block of c that is complete.
  template <class Finish>
  void run(std::int64_t tile, const float* a, const float* b, const float* packed, float* c,
           const Finish& finish) const {
    const std::int64_t row_tile = tile % grid_.rows.tiles(), column_tile = tile / grid_.rows.tiles();
    const std::int64_t row = grid_.rows.begin(row_tile), rows = grid_.rows.length(row_tile);
    const std::int64_t first = grid_.columns.begin(column_tile), length = grid_.columns.length(column_tile);
    const bool in_panels = form_ == Form::kPanels || form_ == Form::kOwnPanels;
    const std::int64_t width = in_panels ? gemm::panel_columns() : length;
    const std::int64_t depth = form_ == Form::kOwnPanels ? gemm::depth_of(k_) : std::max<std::int64_t>(k_, 1);
    std::int64_t done = 0;  // of the inner axis: a depth of the rows of a stays in the L2 cache while panels pass by
    do {
      for (std::int64_t column = first; column < first + length; column += width) {
        const std::int64_t columns = std::min(width, first + length - column);
        if (form_ == Form::kOwnPanels) {
          own_panel({row, rows, column, columns, first, first + length, done}, a, b, c);
        } else {
          block(row, rows, column, columns, a, b, packed, c);
        }
        if (done + depth >= k_) finish(row, rows, column, columns);
      }
      done += depth;
    } while (done < k_);
  }

 private:
  // Few columns are dot products, few inner elements are sums of rows: b is used in place. Panels are packed once for
  // all tiles, or, where few tiles use each, by every tile for itself: a line that another core wrote costs more than
  // packing it again.
  enum class Form : std::uint8_t { kPanels, kOwnPanels, kDots, kRowSums };

  gemm::Matrix matrix(const float* b) const { return transpose_b_ ? gemm::Matrix{b, 1, k_} : gemm::Matrix{b, n_, 1}; }
  // A panel of a tile, for one depth of the inner axis that begins at `inner`.
  struct Piece {
    std::int64_t row, rows, column, columns;
    std::int64_t first_column, last_column;  // of the tile
    std::int64_t inner;
  };
  void own_panel(const Piece& piece, const float* a, const float* b, float* c) const;
  void block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, const float* a,
             const float* b, const float* packed, float* c) const;
  gemm::PanelProduct product_of(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                                const float* a, float* c) const;

  std::int64_t n_, k_;
  bool transpose_b_;
  Form form_;
  ProductGrid grid_;
  Grid packing_;
};

}  // namespace headway::backend
