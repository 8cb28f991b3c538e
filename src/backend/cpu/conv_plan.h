// The walk of a convolution kernel: which inputs an output position sees, and blocks of positions that share a window.
//
// Along one axis an output at first + step * q sees the inputs at in_step * q + tap.at. The forward convolution is one
// such *phase*. Its gradient by the input is the same walk over dy, a phase for each input position modulo the stride:
// dx[i] = sum over k of dy[(i + padding - k * dilation) / stride] w[k], for the k that divide. So one kernel runs both.
//
// A *block* is some whole images, or a band of rows (of q) of one image. Its window, the inputs that it sees, is read
// in place when it lies in the input, and otherwise copied with the zeros around it to scratch memory that stays in the
// L2 cache: the copy costs a load and a store where the product does taps * out multiply-adds.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/shifted_product.h"
#include "base/shape.h"
#include "graph/ops/conv2d.h"

namespace headway::backend {

// x [batch, height, width, in], w [out, in, kernel_h, kernel_w], y [batch, out_height, out_width, out].
struct ConvShape {
  std::int64_t batch, in, out;
  std::array<std::int64_t, 2> size, kernel, out_size;
  graph::Conv2dAttributes conv;

  ConvShape(const Shape& x, const Shape& w, const Shape& y, const graph::Conv2dAttributes& attributes)
      : batch(x[0]),
        in(x[3]),
        out(w[0]),
        size{x[1], x[2]},
        kernel{w[2], w[3]},
        out_size{y[1], y[2]},
        conv(attributes) {}

  std::int64_t window() const { return kernel[0] * kernel[1]; }
  bool empty() const { return batch * in * out * size[0] * size[1] * window() * out_size[0] * out_size[1] == 0; }
};

struct ConvTap {
  std::int64_t kernel, at;
};
struct ConvPhase {
  std::int64_t first, step, count;
  std::vector<ConvTap> taps;  // by `at`
};
struct ConvAxis {
  std::int64_t in_size, out_size, in_step;
  std::vector<ConvPhase> phases;

  std::int64_t count() const { return phases.front().count; }  // the most of any phase
  std::int64_t least() const;                                  // the window of q = 0: [least, most]
  std::int64_t most() const;
  // Inputs that `positions` consecutive q see.
  std::int64_t reach(std::int64_t positions) const { return (positions - 1) * in_step + most() - least() + 1; }
  bool padded() const { return least() < 0 || least() + reach(count()) > in_size; }
};
ConvAxis forward_axis(const ConvShape& shape, std::size_t axis);
ConvAxis gradient_axis(const ConvShape& shape, std::size_t axis);

struct ConvBlock {
  std::int64_t image, images, row, rows;  // rows: of q
};

class ConvPlan {
 public:
  // The outputs have out_channels, the inputs in_channels. The inputs may be gradients at the output of `activation`:
  // then a window is always a copy, of the gradients before it.
  ConvPlan(std::int64_t batch, std::array<ConvAxis, 2> axes, std::int64_t in_channels, std::int64_t out_channels,
           graph::Activation activation = graph::Activation::kNone);

  std::int64_t blocks() const { return groups_ * bands_; }
  ConvBlock block(std::int64_t index) const;
  std::int64_t images_per_block() const { return images_; }
  std::int64_t rows_per_block() const { return rows_; }

  // Floats of scratch memory that a block's window takes; 0 when it is read in place.
  std::int64_t window_floats() const { return copied_ ? images_ * window_rows_ * pitch_ : 0; }
  // The window of a block of x, copied to `scratch` when it is not read in place. `y`: the activation's output.
  const float* window(const ConvBlock& block, const float* x, const float* y, float* scratch) const;
  // Where the outputs of a block begin, in y.
  std::int64_t output(const ConvBlock& block) const;

  graph::Activation activation() const { return activation_; }
  const ConvAxis& axis(std::size_t index) const { return axes_[index]; }
  // From the window's begin: of the input of a tap, and of the first input that position (image, qy, qx) sees.
  std::int64_t tap_offset(std::int64_t at_y, std::int64_t at_x) const;
  std::int64_t window_offset(std::int64_t image, std::int64_t qy, std::int64_t qx) const;
  std::int64_t position_step() const { return axes_[1].in_step * in_; }

 private:
  void copy_window(const ConvBlock& block, const float* x, const float* y, float* to) const;

  std::int64_t batch_;
  std::array<ConvAxis, 2> axes_;
  std::int64_t in_, out_;
  graph::Activation activation_;
  bool copied_;
  std::int64_t images_ = 1, rows_ = 1, groups_ = 0, bands_ = 0;
  std::int64_t window_rows_ = 0, image_rows_ = 0, pitch_ = 0;
};

// Scratch memory of a tile: on the stack of the thread where that is enough, so that it is warm from the tile before.
inline constexpr std::int64_t kStackFloats = 48 * 1024;

// The taps of a phase of each axis as runs of the window, neighbours joined; then cut where a step of the inner axis
// ends for which a panel of b, `panel` wide, stays in the L1 cache. `step` is the distance of a run's elements.
struct RunGroup {
  std::int64_t first_run, runs, first_row, depth;
};
struct ConvRuns {
  std::vector<shifted::Run> runs;
  std::vector<RunGroup> groups;
  std::int64_t depth = 0;
};
ConvRuns runs_of(const std::vector<shifted::Run>& long_runs, std::int64_t step, std::int64_t panel);

}  // namespace headway::backend
