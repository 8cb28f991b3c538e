// grouped_linear: the products of linear, with other weights for every group of rows.
//
// Which rows a group has is known at a launch only, so tiles are cut as if all rows were one matrix: a tile of rows
// goes through the groups that it meets, and no row is multiplied that no group has. For the gradient of the weights a
// tile owns a block of one group's matrix.
#include "graph/ops/grouped_linear.h"

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/product_grid.h"
#include "backend/cpu/row_sums.h"
#include "backend/cpu/sums_block.h"
#include "backend/cpu/tile_kernel.h"

namespace headway::backend {
namespace {

// y [rows, n] = x [rows, k] b[g], b[g] = w[g]^T of w [groups, n, k] (forward) or w [groups, k, n] (the gradient of x).
class GroupedRows {
 public:
  GroupedRows(std::int64_t rows, std::int64_t n, std::int64_t k, std::int64_t groups, bool transpose_w)
      : n_(n),
        k_(k),
        groups_(groups),
        transpose_w_(transpose_w),
        grid_(grid_of_rows(rows, n, k)),
        packing_{grid_.tiles() > 0 ? k : 0, 64} {}

  std::int64_t packing_tiles() const { return groups_ * packing_.tiles(); }
  std::int64_t tiles() const { return grid_.tiles(); }
  std::int64_t workspace_floats() const { return groups_ * gemm::packed_b_floats(k_, n_); }

  void pack(std::int64_t tile, const float* w, float* packed) const {
    const std::int64_t group = tile / packing_.tiles(), part = tile % packing_.tiles();
    const float* from = w + group * n_ * k_;
    const gemm::Matrix b = transpose_w_ ? gemm::Matrix{from, 1, k_} : gemm::Matrix{from, n_, 1};
    gemm::pack_b(b, k_, n_, packing_.begin(part), packing_.length(part),
                 packed + group * gemm::packed_b_floats(k_, n_));
  }

  // finish(group, row, rows, column, columns) for every block that is complete, group = groups for those of no group.
  template <class Finish>
  void run(std::int64_t tile, const float* x, const std::int32_t* offsets, const float* packed, float* y,
           const Finish& finish) const {
    const std::int64_t row_tile = tile % grid_.rows.tiles(), column_tile = tile / grid_.rows.tiles();
    const std::int64_t first = grid_.rows.begin(row_tile), last = first + grid_.rows.length(row_tile);
    const std::int64_t column = grid_.columns.begin(column_tile), columns = grid_.columns.length(column_tile);
    for (std::int64_t group = 0; group <= groups_; ++group) {
      const std::int64_t begin = std::max<std::int64_t>(first, offsets[group]);
      const std::int64_t end = group == groups_ ? last : std::min<std::int64_t>(last, offsets[group + 1]);
      if (begin >= end) continue;
      for (std::int64_t j = column; j < column + columns; j += gemm::panel_columns()) {
        const std::int64_t width = std::min(gemm::panel_columns(), column + columns - j);
        if (group < groups_) {
          gemm::PanelProduct product;
          product.m = end - begin;
          product.columns = width;
          product.k = k_;
          product.a = x + begin * k_;
          product.a_stride = std::max<std::int64_t>(k_, 1);
          product.panel = packed + group * gemm::packed_b_floats(k_, n_) + j * k_;
          product.c = y + begin * n_ + j;
          product.c_stride = n_;
          gemm::multiply(product);
        }
        finish(group, begin, end - begin, j, width);
      }
    }
  }

 private:
  std::int64_t n_, k_, groups_;
  bool transpose_w_;
  ProductGrid grid_;
  Grid packing_;
};

void clear_block(float* y, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) std::fill_n(y + row * stride, columns, 0.0F);
}

// dw [groups, n, k] and perhaps db [groups, n]. Stage 0: blocks of dw; stage 1: sums of dy.
class GroupedSums {
 public:
  GroupedSums(std::int64_t rows, std::int64_t n, std::int64_t k, std::int64_t groups, bool bias)
      : n_(n),
        k_(k),
        groups_(groups),
        grid_(blocks_of(n, k)),
        sums_{bias ? n : 0, 256},
        block_(grid_.rows.size, grid_.columns.size,
               std::max<std::int64_t>(1, rows / std::max<std::int64_t>(groups, 1))) {}

  std::vector<std::int64_t> stages() const { return {groups_ * grid_.tiles(), groups_ * sums_.tiles()}; }
  std::int64_t workspace_floats() const { return groups_ * grid_.tiles() * block_.packed_floats(); }

  void product(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t group = tile / grid_.tiles(), within = tile % grid_.tiles();
    const std::int64_t row_tile = within % grid_.rows.tiles(), column_tile = within / grid_.rows.tiles();
    const std::int64_t row = grid_.rows.begin(row_tile), column = grid_.columns.begin(column_tile);
    const std::int32_t* offsets = input<std::int32_t>(args, 2);
    const gemm::Matrix dy{input(args, 0) + offsets[group] * n_ + row, 1, n_};
    const gemm::Matrix x{input(args, 1) + offsets[group] * k_ + column, k_, 1};
    block_.run(dy, x, grid_.rows.length(row_tile), grid_.columns.length(column_tile),
               offsets[group + 1] - offsets[group], scratch(args) + tile * block_.packed_floats(),
               output(args, 0) + (group * n_ + row) * k_ + column, k_);
  }
  void sums(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t group = tile / sums_.tiles(), first = sums_.begin(tile % sums_.tiles());
    const std::int32_t* offsets = input<std::int32_t>(args, 2);
    sum_of_rows(input(args, 0) + offsets[group] * n_ + first, n_, offsets[group + 1] - offsets[group],
                sums_.length(tile % sums_.tiles()), output(args, 1) + group * n_ + first);
  }

 private:
  // The blocks of one group's matrix: there are groups enough to share out, so the summed rows are never cut.
  static ProductGrid blocks_of(std::int64_t n, std::int64_t k) {
    constexpr std::int64_t kRows = 192, kColumns = 576;
    if (n == 0 || k == 0) return {{0, 1}, {0, 1}, {0, 1}};
    ProductGrid grid{{n, n}, {k, k}, {1, 1}};
    grid.rows.size =
        divide_up(divide_up(n, std::max<std::int64_t>(1, n / kRows)), gemm::strip_rows()) * gemm::strip_rows();
    grid.columns.size = divide_up(divide_up(k, divide_up(k, kColumns)), gemm::panel_columns()) * gemm::panel_columns();
    return grid;
  }

  std::int64_t n_, k_, groups_;
  ProductGrid grid_;
  Grid sums_;
  SumsBlock block_;
};

}  // namespace

std::unique_ptr<CpuKernel> prepare_grouped_linear(const KernelRequest& request) {
  const auto attributes = graph::LinearAttributes::from(request.attributes);
  const Shape& w = request.inputs[1].shape;
  const std::int64_t groups = w[0], n = w[1];
  const bool bias = request.inputs.size() == 4;
  const GroupedRows product(request.inputs[0].shape[0], n, w[2], groups, true);
  return tile_kernel(
      {product.packing_tiles(), product.tiles()}, Bytes(4 * product.workspace_floats()),
      [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
        if (stage == 0) return product.pack(tile, input(args, 1), scratch(args));
        float* y = output(args, 0);
        float* pre = attributes.keep_pre ? output(args, 1) : nullptr;
        product.run(
            tile, input(args, 0), input<std::int32_t>(args, 2), scratch(args), y,
            [&](std::int64_t group, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
              const std::int64_t at = row * n + column;
              if (group == groups) {
                clear_block(y + at, n, rows, columns);
                if (pre != nullptr) clear_block(pre + at, n, rows, columns);
                return;
              }
              bias_activation_rows(attributes.activation, bias ? input(args, 3) + group * n + column : nullptr, y + at,
                                   n, pre == nullptr ? nullptr : pre + at, n, rows, columns);
            });
      });
}

std::unique_ptr<CpuKernel> prepare_grouped_linear_grad_input(const KernelRequest& request) {
  const Shape& w = request.inputs[1].shape;
  const std::int64_t groups = w[0], k = w[2];
  const GroupedRows product(request.inputs[0].shape[0], k, w[1], groups, false);
  return tile_kernel({product.packing_tiles(), product.tiles()}, Bytes(4 * product.workspace_floats()),
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       if (stage == 0) return product.pack(tile, input(args, 1), scratch(args));
                       float* dx = output(args, 0);
                       product.run(tile, input(args, 0), input<std::int32_t>(args, 2), scratch(args), dx,
                                   [&](std::int64_t group, std::int64_t row, std::int64_t rows, std::int64_t column,
                                       std::int64_t columns) {
                                     if (group == groups) clear_block(dx + row * k + column, k, rows, columns);
                                   });
                     });
}

std::unique_ptr<CpuKernel> prepare_grouped_linear_grad_weight(const KernelRequest& request) {
  const Shape& dy = request.inputs[0].shape;
  const GroupedSums sums(dy[0], dy[1], request.inputs[1].shape[1], request.inputs[2].shape[0] - 1,
                         request.outputs.size() > 1);
  return tile_kernel(sums.stages(), Bytes(4 * sums.workspace_floats()),
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       if (stage == 0) return sums.product(tile, args);
                       sums.sums(tile, args);
                     });
}

}  // namespace headway::backend
