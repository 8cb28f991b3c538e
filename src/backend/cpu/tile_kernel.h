// Short forms for kernels whose tile is a function call: operands by index, grids by size, a kernel from a lambda.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_kernel.h"

namespace headway::backend {

template <class T = float>
const T* input(const KernelArgs& args, std::size_t index) {
  return static_cast<const T*>(args.inputs[index]);
}
template <class T = float>
T* output(const KernelArgs& args, std::size_t index) {
  return static_cast<T*>(args.outputs[index]);
}
template <class T = float>
T* scratch(const KernelArgs& args) {
  return reinterpret_cast<T*>(args.workspace);
}

// `count` items (rows, elements) cut into tiles of `size`; a function of the shape only.
struct Grid {
  std::int64_t count = 0;
  std::int64_t size = 1;

  std::int64_t tiles() const { return divide_up(count, size); }
  std::int64_t begin(std::int64_t tile) const { return tile * size; }
  std::int64_t length(std::int64_t tile) const { return std::min(size, count - tile * size); }
};

// Tiles of about 256 KiB, smaller when that would give fewer than four tiles, but 32 KiB at least: a tile should
// outlast the microsecond that it costs to wake another thread. Sizes are multiples of `multiple`.
inline Grid grid_of(std::int64_t count, std::int64_t bytes_per_item, std::int64_t multiple = 1) {
  const std::int64_t most = rows_per_tile(count, bytes_per_item),
                     least = rows_per_tile(count, bytes_per_item, 32 * 1024);
  const std::int64_t size = std::max(least, std::min(most, divide_up(count, 4)));
  return {count, divide_up(size, multiple) * multiple};
}

// Element-wise work over `operands` arrays of f32; a tile starts on a cache line when the array does.
inline Grid flat_grid(std::int64_t elements, std::int64_t operands) {
  return grid_of(elements, 4 * operands, 64);
}

template <class Body>
class TileKernel final : public CpuKernel {
 public:
  TileKernel(std::vector<std::int64_t> stages, Bytes workspace, Body body)
      : CpuKernel(std::move(stages)), workspace_(workspace), body_(std::move(body)) {}

  Bytes workspace() const override { return workspace_; }
  std::string variant() const override { return "highway"; }
  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override { body_(stage, tile, args); }

 private:
  Bytes workspace_;
  Body body_;
};

// A kernel whose tiles are body(stage, tile, args).
template <class Body>
std::unique_ptr<CpuKernel> tile_kernel(std::vector<std::int64_t> stages, Bytes workspace, Body body) {
  return std::make_unique<TileKernel<Body>>(std::move(stages), workspace, std::move(body));
}

}  // namespace headway::backend
