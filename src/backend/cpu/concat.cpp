// Joining along an axis and cutting out a part: copies of runs. An operand is rows (the axes before the one that is
// cut) of runs (that axis and those behind it), of which each row of the whole holds one.
#include "graph/ops/concat.h"

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/tile_kernel.h"

namespace headway::backend {
namespace {

std::int64_t rows_before(const Shape& shape, std::int64_t axis) {
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) rows *= shape[i];
  return rows;
}

// Elements of a row from `axis` on when that axis has `extent` of them.
std::int64_t run_of(const Shape& shape, std::int64_t axis, std::int64_t extent) {
  for (std::int64_t i = axis + 1; i < shape.rank(); ++i) extent *= shape[i];
  return extent;
}

// Rows and the run of each that a tile takes: whole rows, or where these are few and long a part of one.
struct RunGrid {
  Grid rows, run;

  RunGrid(std::int64_t count, std::int64_t length)
      : rows(grid_of(length == 0 ? 0 : count, 8 * length)), run{length, std::max<std::int64_t>(length, 1)} {
    if (count < 4 && length > 16384) run.size = 16384;
  }
  std::int64_t tiles() const { return rows.tiles() * run.tiles(); }

  // Calls body(row, first element of the run, length) for the rows of a tile.
  template <class Body>
  void for_each_row(std::int64_t tile, const Body& body) const {
    const std::int64_t block = tile / run.tiles(), part = tile % run.tiles(), first = rows.begin(block);
    for (std::int64_t row = first; row < first + rows.length(block); ++row) {
      body(row, run.begin(part), run.length(part));
    }
  }
};

}  // namespace

std::unique_ptr<CpuKernel> prepare_concat(const KernelRequest& request) {
  const std::int64_t axis = graph::ConcatAttributes::from(request.attributes).axis;
  const Shape& whole = request.outputs[0].shape;
  const std::int64_t rows = rows_before(whole, axis), stride = run_of(whole, axis, whole[axis]);
  struct Part {
    RunGrid grid;
    std::int64_t first_tile, run, begin;
  };
  std::vector<Part> parts;
  std::int64_t tiles = 0, begin = 0;
  for (const graph::TensorType& input : request.inputs) {
    const std::int64_t run = run_of(whole, axis, input.shape[axis]);
    parts.push_back({RunGrid(rows, run), tiles, run, begin});
    tiles += parts.back().grid.tiles();
    begin += run;
  }
  return tile_kernel({tiles}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    std::size_t index = parts.size() - 1;
    while (parts[index].first_tile > tile) --index;
    const Part& part = parts[index];
    part.grid.for_each_row(tile - part.first_tile, [&](std::int64_t row, std::int64_t first, std::int64_t length) {
      std::copy_n(input(args, index) + row * part.run + first, length,
                  output(args, 0) + row * stride + part.begin + first);
    });
  });
}

std::unique_ptr<CpuKernel> prepare_slice(const KernelRequest& request) {
  const auto attributes = graph::SliceAttributes::from(request.attributes);
  const Shape& whole = request.inputs[0].shape;
  const std::int64_t axis = attributes.axis, stride = run_of(whole, axis, whole[axis]);
  const std::int64_t begin = run_of(whole, axis, attributes.begin), run = run_of(whole, axis, attributes.length);
  const RunGrid grid(rows_before(whole, axis), run);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    grid.for_each_row(tile, [&](std::int64_t row, std::int64_t first, std::int64_t length) {
      std::copy_n(input(args, 0) + row * stride + begin + first, length, output(args, 0) + row * run + first);
    });
  });
}

std::unique_ptr<CpuKernel> prepare_slice_grad(const KernelRequest& request) {
  const auto attributes = graph::SliceAttributes::from(request.attributes);
  const Shape& whole = request.outputs[0].shape;
  const std::int64_t axis = attributes.axis, stride = run_of(whole, axis, whole[axis]);
  const std::int64_t begin = run_of(whole, axis, attributes.begin), run = run_of(whole, axis, attributes.length);
  const RunGrid grid(rows_before(whole, axis), stride);
  return tile_kernel({grid.tiles()}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    grid.for_each_row(tile, [&](std::int64_t row, std::int64_t first, std::int64_t length) {
      // What of [first, end) lies before the part, in it, and behind it.
      const std::int64_t end = first + length;
      const std::int64_t from = std::clamp(begin, first, end), to = std::clamp(begin + run, first, end);
      float* dx = output(args, 0) + row * stride;
      std::fill(dx + first, dx + from, 0.0F);
      if (to > from) std::copy_n(input(args, 0) + row * run + (from - begin), to - from, dx + from);
      std::fill(dx + to, dx + end, 0.0F);
    });
  });
}

}  // namespace headway::backend
