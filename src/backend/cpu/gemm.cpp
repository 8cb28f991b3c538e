// linear and matmul: tiles of a product on oneDNN's GEMM, the epilogue while the tile is in cache.
#include "backend/cpu/gemm.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile_kernel.h"
#include "base/error.h"
#include "graph/ops/linear.h"

namespace headway::backend {

void gemm(const GemmShape& s, const float* a, const float* b, float* c) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    for (std::int64_t row = 0; row < s.m; ++row) std::fill_n(c + row * s.ldc, s.n, 0.0F);
    return;
  }
  const dnnl_status_t status = dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, 1.0F, a,
                                          s.lda, b, s.ldb, 0.0F, c, s.ldc);
  HEADWAY_CHECK(status == dnnl_success, fmt::format("sgemm {} x {} x {}: status {}", s.m, s.n, s.k, int(status)));
}

namespace {

// How a product is cut. Rows and columns of a tile, and of the inner axis what one partial sum covers.
struct ProductGrid {
  Grid rows, columns, inner;
  std::int64_t tiles() const { return rows.tiles() * columns.tiles() * inner.tiles(); }
};

// Halves the size of a grid's tiles, to whole vectors.
void halve(Grid& grid) {
  grid.size = divide_up(divide_up(grid.size, 2), 16) * 16;
}

// oneDNN packs both operands of every tile, so a tile is as large as leaves eight of them, and is cut where the loss is
// least (measured for a from 128 x 128 to 4096 x 1536): columns to 192, rows to 128, then the inner axis where partial
// sums are allowed. Products too small for that are cut further, until four tiles or some ten microseconds of work.
ProductGrid grid_of_product(std::int64_t m, std::int64_t n, std::int64_t k, bool transposed, bool may_split) {
  if (m == 0 || n == 0) return {{0, 1}, {0, 1}, {1, 1}};
  ProductGrid grid{{m, transposed ? m : std::min<std::int64_t>(m, 512)}, {n, n}, {std::max<std::int64_t>(k, 1), 0}};
  grid.inner.size = grid.inner.count;
  const auto work = [&] {
    return 2.0 * static_cast<double>(grid.rows.size) * static_cast<double>(grid.columns.size) *
           static_cast<double>(grid.inner.size);
  };
  while (grid.columns.size > 1024) halve(grid.columns);
  while (transposed && grid.rows.size > 1024) halve(grid.rows);
  while (grid.tiles() < 8 && work() > 4e6) {
    if (!transposed && grid.columns.size >= 384) {
      halve(grid.columns);
    } else if (grid.rows.size >= 256) {
      halve(grid.rows);
    } else if (may_split && grid.inner.size >= 2048) {
      halve(grid.inner);
    } else if (grid.tiles() >= 4) {
      break;
    } else if (may_split && grid.inner.size >= 512) {
      halve(grid.inner);
    } else if (grid.rows.size >= 32 && grid.rows.size >= grid.columns.size) {
      halve(grid.rows);
    } else if (grid.columns.size >= 32) {
      halve(grid.columns);
    } else {
      break;
    }
  }
  return grid;
}

class LinearKernel final : public CpuKernel {
 public:
  LinearKernel(const graph::LinearAttributes& attributes, bool bias, const GemmShape& shape, const ProductGrid& grid)
      : CpuKernel({grid.tiles()}), attributes_(attributes), bias_(bias), shape_(shape), grid_(grid) {}

  std::string variant() const override { return "onednn:sgemm"; }

  void run(std::size_t, std::int64_t tile, const KernelArgs& args) const override {
    const std::int64_t row_tile = tile / grid_.columns.tiles(), column_tile = tile % grid_.columns.tiles();
    const std::int64_t row = grid_.rows.begin(row_tile), column = grid_.columns.begin(column_tile);
    GemmShape shape = shape_;
    shape.m = grid_.rows.length(row_tile);
    shape.n = grid_.columns.length(column_tile);
    const std::int64_t at = row * shape.ldc + column;
    float* y = output(args, 0) + at;
    gemm(shape, input(args, 0) + row * shape.lda, input(args, 1) + column * shape.ldb, y);
    if (!bias_ && !attributes_.keep_pre && attributes_.activation == graph::Activation::kNone) return;
    bias_activation_rows(attributes_.activation, bias_ ? input(args, 2) + column : nullptr, y, shape.ldc,
                         attributes_.keep_pre ? output(args, 1) + at : nullptr, shape.ldc, shape.m, shape.n);
  }

 private:
  graph::LinearAttributes attributes_;
  bool bias_;
  GemmShape shape_;
  ProductGrid grid_;
};

// Stage 0: products of tiles, or partial sums of them in the workspace; stage 1: the partial sums added in order.
class MatmulKernel final : public CpuKernel {
 public:
  MatmulKernel(std::int64_t batch, const GemmShape& shape, const ProductGrid& grid, const Grid& sums)
      : CpuKernel({batch * grid.tiles(), grid.inner.tiles() > 1 ? sums.tiles() : 0}),
        batch_(batch),
        shape_(shape),
        grid_(grid),
        sums_(sums) {}

  std::string variant() const override { return grid_.inner.tiles() > 1 ? "onednn:sgemm:split" : "onednn:sgemm"; }
  Bytes workspace() const override {
    return Bytes(grid_.inner.tiles() > 1 ? 4 * grid_.inner.tiles() * batch_ * shape_.m * shape_.n : 0);
  }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    if (stage == 0) {
      product(tile, args);
    } else {
      add(tile, args);
    }
  }

 private:
  void product(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t batch = tile / grid_.tiles(), within = tile % grid_.tiles();
    const std::int64_t part = within % grid_.inner.tiles(), block = within / grid_.inner.tiles();
    const std::int64_t row_tile = block / grid_.columns.tiles(), column_tile = block % grid_.columns.tiles();
    const std::int64_t row = grid_.rows.begin(row_tile), column = grid_.columns.begin(column_tile);
    const std::int64_t inner = grid_.inner.begin(part);
    GemmShape shape = shape_;
    shape.m = grid_.rows.length(row_tile);
    shape.n = grid_.columns.length(column_tile);
    shape.k = shape_.k == 0 ? 0 : grid_.inner.length(part);
    const float* a = input(args, 0) + batch * shape_.m * shape_.k +
                     (shape.transpose_a ? inner * shape.lda + row : row * shape.lda + inner);
    const float* b = input(args, 1) + batch * shape_.n * shape_.k +
                     (shape.transpose_b ? column * shape.ldb + inner : inner * shape.ldb + column);
    float* c = grid_.inner.tiles() > 1 ? scratch(args) + part * batch_ * shape_.m * shape_.n : output(args, 0);
    gemm(shape, a, b, c + (batch * shape_.m + row) * shape.ldc + column);
  }

  void add(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t begin = sums_.begin(tile), length = sums_.length(tile);
    float* c = output(args, 0) + begin;
    const float* partial = scratch(args) + begin;
    for (std::int64_t i = 0; i < length; ++i) c[i] = partial[i];
    for (std::int64_t part = 1; part < grid_.inner.tiles(); ++part) {
      partial += sums_.count;
      for (std::int64_t i = 0; i < length; ++i) c[i] += partial[i];
    }
  }

  std::int64_t batch_;
  GemmShape shape_;
  ProductGrid grid_;
  Grid sums_;
};

}  // namespace

std::unique_ptr<CpuKernel> prepare_linear(const KernelRequest& request) {
  const Shape& w = request.inputs[1].shape;
  const std::int64_t m = request.inputs[0].shape.rows(), n = w[0], k = w[1];
  const GemmShape shape{false, true, m, n, k, std::max<std::int64_t>(k, 1), std::max<std::int64_t>(k, 1), n};
  return std::make_unique<LinearKernel>(graph::LinearAttributes::from(request.attributes), request.inputs.size() > 2,
                                        shape, grid_of_product(m, n, k, false, false));
}

std::unique_ptr<CpuKernel> prepare_matmul(const KernelRequest& request) {
  const auto attributes = graph::MatmulAttributes::from(request.attributes);
  const graph::MatmulShape s = graph::matmul_shape(attributes, request.inputs[0].shape, request.inputs[1].shape);
  const GemmShape shape{attributes.transpose_a,
                        attributes.transpose_b,
                        s.m,
                        s.n,
                        s.k,
                        std::max<std::int64_t>(1, attributes.transpose_a ? s.m : s.k),
                        std::max<std::int64_t>(1, attributes.transpose_b ? s.k : s.n),
                        s.n};
  return std::make_unique<MatmulKernel>(s.batch, shape,
                                        grid_of_product(s.m, s.n, s.k, attributes.transpose_a, s.batch == 1),
                                        Grid{s.batch * s.m * s.n, 8192});
}

}  // namespace headway::backend
