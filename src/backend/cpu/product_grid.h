// How a product [m, k] x [k, n] is cut into tiles: by its shape only.
#pragma once

#include "backend/cpu/gemm.h"
#include "backend/cpu/tile_kernel.h"

namespace headway::backend {

// Rows and columns of a tile, and of the inner axis what one partial sum covers. Columns are cut at panels.
struct ProductGrid {
  Grid rows, columns, inner;
  std::int64_t tiles() const { return rows.tiles() * columns.tiles() * inner.tiles(); }
};

// Up to so many tiles of rows each packs b for itself; more share panels that are packed before.
inline constexpr std::int64_t kFewRowTiles = 4;

// For a with contiguous rows and b packed before: tiles of rows, small enough that their part of a stays in the L2
// cache while all panels of b pass by. The inner axis is not cut.
ProductGrid grid_of_rows(std::int64_t m, std::int64_t n, std::int64_t k);

// For a stored transposed, the sum over all rows of a batch (the gradient of weights): a tile packs its parts of both
// operands, so it is large; the inner axis is cut where that would leave too few tiles.
ProductGrid grid_of_sums(std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace headway::backend
