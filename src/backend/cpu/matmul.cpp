// matmul in all its forms: batched or folded, either operand transposed.
#include "backend/cpu/kernels.h"
#include "backend/cpu/rows_product.h"
#include "backend/cpu/sums_block.h"
#include "graph/ops/linear.h"

namespace headway::backend {
namespace {

using gemm::Matrix;

// a with contiguous rows. Stage 0 packs every b of the batch; stage 1 multiplies tiles.
class RowsKernel final : public CpuKernel {
 public:
  RowsKernel(const graph::MatmulShape& shape, const RowsProduct& product)
      : CpuKernel({shape.batch * product.packing_tiles(), shape.batch * product.tiles()}),
        shape_(shape),
        product_(product) {}

  std::string variant() const override { return product_.variant(); }
  Bytes workspace() const override { return Bytes(4 * shape_.batch * product_.packed_floats()); }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    const std::int64_t tiles = stage == 0 ? product_.packing_tiles() : product_.tiles();
    const std::int64_t batch = tile / tiles, within = tile % tiles;
    const float* b = input(args, 1) + batch * shape_.k * shape_.n;
    float* packed = scratch(args) + batch * product_.packed_floats();
    if (stage == 0) return product_.pack(within, b, packed);
    product_.run(within, input(args, 0) + batch * shape_.m * shape_.k, b, packed,
                 output(args, 0) + batch * shape_.m * shape_.n,
                 [](std::int64_t, std::int64_t, std::int64_t, std::int64_t) {});
  }

 private:
  graph::MatmulShape shape_;
  RowsProduct product_;
};

// a stored transposed. Stage 0: tiles pack their parts of a and b, a depth at a time, and sum; a tile of a cut inner
// axis leaves a partial sum. Stage 1: the partial sums added in order.
class SumsKernel final : public CpuKernel {
 public:
  SumsKernel(const graph::MatmulShape& shape, bool transpose_b, const ProductGrid& grid)
      : CpuKernel({shape.batch * grid.tiles(), grid.inner.tiles() > 1 ? sums_of(shape).tiles() : 0}),
        shape_(shape),
        transpose_b_(transpose_b),
        split_(grid.inner.tiles() > 1),
        grid_(grid),
        sums_(sums_of(shape)),
        block_(grid.rows.size, grid.columns.size, grid.inner.size),
        partials_(shape.batch * grid.tiles() * block_.packed_floats()) {}

  std::string variant() const override { return split_ ? "highway:gemm:split" : "highway:gemm"; }
  Bytes workspace() const override { return Bytes(4 * (partials_ + (split_ ? grid_.inner.tiles() * sums_.count : 0))); }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    if (stage == 0) {
      product(tile, args);
    } else {
      add(tile, args);
    }
  }

 private:
  static Grid sums_of(const graph::MatmulShape& shape) { return {shape.batch * shape.m * shape.n, 8192}; }

  void product(std::int64_t tile, const KernelArgs& args) const {
    const auto& [batches, m, n, k] = shape_;
    const std::int64_t batch = tile / grid_.tiles(), within = tile % grid_.tiles();
    // Parts of the inner axis last: a thread that has several tiles has them of the same part of both operands.
    const std::int64_t blocks = grid_.rows.tiles() * grid_.columns.tiles();
    const std::int64_t part = within / blocks, block = within % blocks;
    const std::int64_t row_tile = block % grid_.rows.tiles(), column_tile = block / grid_.rows.tiles();
    const std::int64_t row = grid_.rows.begin(row_tile), column = grid_.columns.begin(column_tile);
    const Matrix a = Matrix{input(args, 0) + batch * m * k, 1, m}.at(row, 0);
    const float* all_b = input(args, 1) + batch * k * n;
    const Matrix b = (transpose_b_ ? Matrix{all_b, 1, k} : Matrix{all_b, n, 1}).at(0, column);
    float* c = split_ ? scratch(args) + partials_ + part * sums_.count : output(args, 0);
    float* packed = scratch(args) + tile * block_.packed_floats();
    const std::int64_t begin = grid_.inner.begin(part), end = k == 0 ? begin : begin + grid_.inner.length(part);
    block_.run(a.at(0, begin), b.at(begin, 0), grid_.rows.length(row_tile), grid_.columns.length(column_tile),
               end - begin, packed, c + (batch * m + row) * n + column, n);
  }

  void add(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t begin = sums_.begin(tile), length = sums_.length(tile);
    float* c = output(args, 0) + begin;
    const float* partial = scratch(args) + partials_ + begin;
    for (std::int64_t i = 0; i < length; ++i) c[i] = partial[i] + partial[i + sums_.count];
    for (std::int64_t part = 2; part < grid_.inner.tiles(); ++part) {
      for (std::int64_t i = 0; i < length; ++i) c[i] += partial[i + part * sums_.count];
    }
  }

  graph::MatmulShape shape_;
  bool transpose_b_, split_;
  ProductGrid grid_;
  Grid sums_;
  SumsBlock block_;
  std::int64_t partials_;  // where they begin in the workspace, in floats
};

}  // namespace

std::unique_ptr<CpuKernel> prepare_matmul(const KernelRequest& request) {
  const auto attributes = graph::MatmulAttributes::from(request.attributes);
  const graph::MatmulShape s = graph::matmul_shape(attributes, request.inputs[0].shape, request.inputs[1].shape);
  if (attributes.transpose_a) {
    return std::make_unique<SumsKernel>(s, attributes.transpose_b, grid_of_sums(s.m, s.n, s.k));
  }
  return std::make_unique<RowsKernel>(s, RowsProduct(s.m, s.n, s.k, attributes.transpose_b));
}

}  // namespace headway::backend
