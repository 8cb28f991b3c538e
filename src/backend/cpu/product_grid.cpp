#include "backend/cpu/product_grid.h"

namespace headway::backend {
namespace {

constexpr std::int64_t kTiles = 6;       // wanted, so that threads end together
constexpr double kLeastWork = 2e6;       // multiply-adds worth a tile of their own: some ten microseconds
constexpr std::int64_t kColumns = 1536;  // of a tile, at most
constexpr std::int64_t kPartialBytes = std::int64_t{4} << 20;

void cut(Grid& grid, std::int64_t parts, std::int64_t unit) {
  grid.size = std::max<std::int64_t>(1, divide_up(divide_up(grid.count, parts), unit) * unit);
}

bool worth_cutting(const ProductGrid& grid) {
  return grid.tiles() < kTiles && static_cast<double>(grid.rows.size) * static_cast<double>(grid.columns.size) *
                                          static_cast<double>(grid.inner.size) >=
                                      kLeastWork;
}

// The whole product, its columns in groups of panels.
ProductGrid whole(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t columns) {
  if (m == 0 || n == 0) return {{0, 1}, {0, 1}, {0, 1}};
  ProductGrid grid{{m, m}, {n, n}, {std::max<std::int64_t>(k, 1), std::max<std::int64_t>(k, 1)}};
  cut(grid.columns, divide_up(n, columns), gemm::panel_columns());
  return grid;
}

// Halves the tiles: columns where they are many and the longer side, else rows, which divide more evenly than a few
// panels do; down to 16 rows and one panel.
void cut_further(ProductGrid& grid) {
  const std::int64_t panel = gemm::panel_columns();
  while (worth_cutting(grid)) {
    const bool wide = grid.columns.size >= 4 * panel && grid.columns.size >= 2 * grid.rows.size;
    if (!wide && grid.rows.size >= 32) {
      cut(grid.rows, 2 * grid.rows.tiles(), gemm::strip_rows());
    } else if (grid.columns.size >= 2 * panel) {
      cut(grid.columns, 2 * grid.columns.tiles(), panel);
    } else {
      break;
    }
  }
}

}  // namespace

ProductGrid grid_of_rows(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kMostRows = 256;
  // With few rows each tile packs for itself and goes through all its columns a depth of the inner axis at a time: its
  // part of c has to stay in the L2 cache, while the inner axis may be long.
  const bool few = m <= kMostRows * kFewRowTiles;
  ProductGrid grid = whole(m, n, k, few ? kColumns / 2 : kColumns);
  if (grid.tiles() == 0) return grid;
  constexpr std::int64_t kFloats = 128 * 1024;  // of a in a tile: 512 KiB
  const std::int64_t rows = few ? kMostRows : std::clamp<std::int64_t>(kFloats / grid.inner.size, 64, kMostRows);
  cut(grid.rows, divide_up(m, rows), gemm::strip_rows());
  cut_further(grid);
  return grid;
}

ProductGrid grid_of_sums(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kRows = 192, kSumColumns = 576;
  ProductGrid grid = whole(m, n, k, kSumColumns);
  if (grid.tiles() == 0) return grid;
  cut(grid.rows, std::max<std::int64_t>(1, m / kRows), gemm::strip_rows());
  while (worth_cutting(grid) && grid.inner.size >= 2 * gemm::kDepth) {
    const std::int64_t parts = 2 * grid.inner.tiles();
    if (grid.tiles() >= 4 && 4 * parts * m * n > kPartialBytes) break;
    cut(grid.inner, parts, 8);
  }
  cut_further(grid);
  return grid;
}

}  // namespace headway::backend
