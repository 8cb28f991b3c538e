// Sums over neighbouring axes. x is [outer, reduced, inner]: column sums of `outer` matrices, and with an inner extent
// of 1 sums of contiguous runs.
#include "graph/ops/reduce.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_sums.h"
#include "backend/cpu/tile_kernel.h"

namespace headway::backend {
namespace {

constexpr std::int64_t kTileBytes = 256 * 1024;

}  // namespace

std::unique_ptr<CpuKernel> prepare_reduce(const KernelRequest& request) {
  const auto attributes = graph::ReduceAttributes::from(request.attributes);
  const Shape& shape = request.inputs[0].shape;
  std::int64_t outer = 1, reduced = 1, inner = 1;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t& extent = axis < attributes.first                      ? outer
                           : axis < attributes.first + attributes.count ? reduced
                                                                        : inner;
    extent *= shape[axis];
  }
  if (inner == 0) outer = 0;
  const std::int64_t matrix = reduced * inner;
  if (4 * matrix <= kTileBytes) {
    // A tile owns its sums: those of several small matrices.
    const Grid grid = grid_of(outer, std::max<std::int64_t>(4, 4 * matrix));
    return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
      for (std::int64_t at = grid.begin(tile); at < grid.begin(tile) + grid.length(tile); ++at) {
        sum_of_rows(input(args, 0) + at * matrix, inner, reduced, inner, output(args, 0) + at * inner);
      }
    });
  }
  // Blocks of rows x blocks of columns of each matrix; stage 1 adds the blocks of rows in order.
  const Grid columns = {inner, 4096};
  const Grid rows = grid_of(reduced, 4 * std::min(inner, columns.size), 4);
  const bool direct = rows.tiles() == 1;
  std::vector<std::int64_t> stages = {outer * rows.tiles() * columns.tiles()};
  if (!direct) stages.push_back(outer * columns.tiles());
  return tile_kernel(std::move(stages), Bytes(direct ? 0 : 4 * outer * rows.tiles() * inner),
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       const std::int64_t first = columns.begin(tile % columns.tiles()),
                                          width = columns.length(tile % columns.tiles());
                       const std::int64_t which =
                           tile / columns.tiles();  // of the blocks of rows of all matrices; of the matrices
                       if (stage == 0) {
                         const std::int64_t at = which / rows.tiles(), block = which % rows.tiles();
                         float* sums = direct ? output(args, 0) : scratch(args);
                         sum_of_rows(input(args, 0) + at * matrix + rows.begin(block) * inner + first, inner,
                                     rows.length(block), width, sums + which * inner + first);
                       } else {
                         sum_of_rows(scratch(args) + which * rows.tiles() * inner + first, inner, rows.tiles(), width,
                                     output(args, 0) + which * inner + first);
                       }
                     });
}

}  // namespace headway::backend
