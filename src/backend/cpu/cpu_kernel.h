// The form of every CPU kernel: stages of independent tiles.
//
// A kernel's work is a list of stages; stage s has tiles(s) tiles that may run in any order on any thread; a stage
// starts when the one before is complete. The grid depends on the shapes only, never on the number of threads, and a
// sum over tiles is a stage of its own that adds partial results in tile order: so the thread count never changes the
// bits.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device.h"

namespace headway::backend {

class CpuKernel : public Kernel {
 public:
  // Number of tiles of each stage.
  explicit CpuKernel(std::vector<std::int64_t> stages) : stages_(std::move(stages)) {}

  const std::vector<std::int64_t>& stages() const { return stages_; }

  // Runs one tile. Const and thread-safe: everything that changes is in `args`.
  virtual void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const = 0;

  void launch(Stream& stream, const KernelArgs& args) const final;

 private:
  std::vector<std::int64_t> stages_;
};

// Rows per tile so that a tile touches about `target` bytes, at least 1; a function of the shape only.
std::int64_t rows_per_tile(std::int64_t rows, std::int64_t bytes_per_row, std::int64_t target = 256 * 1024);

// ceil(a / b).
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace headway::backend
