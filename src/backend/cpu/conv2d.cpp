// conv2d and conv2d_grad_input as shifted products (shifted_product.h, conv_plan.h).
//
// Stage 0 packs the weights, some input channels a tile; stage 1 runs blocks of positions: a panel of output channels
// at a time, and of that some rows at a time, which stay in the L1 cache while the taps are summed; bias and activation
// finish them there.
#include "graph/ops/conv2d.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/conv_plan.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile_kernel.h"

namespace headway::backend {
namespace {

// A phase of each axis: what its outputs see, and where its weights are packed.
struct PhasePair {
  std::int64_t count_y = 0, count_x = 0;
  ConvRuns runs;
  std::vector<std::int64_t> a_rows, c_rows;  // of a block's positions
  std::int64_t packed = 0;                   // in floats
};

// A kernel element, and where its rows are packed: in a panel of its phase, whose panels begin at `at`.
struct Packing {
  std::int64_t kernel, first_row, at, depth;
};

struct Weights {
  std::int64_t in, out;                // channels as the product sees them
  std::int64_t in_stride, out_stride;  // of w, in floats
};

class ConvKernel final : public CpuKernel {
 public:
  ConvKernel(const ConvPlan& plan, const Weights& weights, std::int64_t kernel_w, graph::Activation activation,
             bool bias)
      : CpuKernel({divide_up(weights.in, kPackedRows), plan.blocks()}),
        plan_(plan),
        weights_(weights),
        activation_(activation),
        bias_(bias),
        lanes_(shifted::lanes()) {
    const std::int64_t panels = divide_up(weights.out, shifted::panel_columns());
    panel_ = divide_up(divide_up(weights.out, panels), lanes_) * lanes_;
    for (const ConvPhase& y : plan.axis(0).phases) {
      for (const ConvPhase& x : plan.axis(1).phases) add_phase(y, x, kernel_w);
    }
  }

  std::string variant() const override { return "highway:shifted"; }
  Bytes workspace() const override { return Bytes(4 * (packed_floats_ + (on_stack() ? 0 : window_all()))); }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    if (stage == 0) {
      const Grid rows{weights_.in, kPackedRows};
      return pack(rows.begin(tile), rows.begin(tile) + rows.length(tile), input(args, 1), scratch(args));
    }
    const ConvBlock block = plan_.block(tile);
    if (!on_stack()) return multiply(block, args, scratch(args) + packed_floats_ + tile * plan_.window_floats());
    alignas(64) float window[kStackFloats];  // NOLINT(modernize-avoid-c-arrays): not initialised
    multiply(block, args, window);
  }

 private:
  bool on_stack() const { return plan_.window_floats() <= kStackFloats; }
  std::int64_t window_all() const { return plan_.blocks() * plan_.window_floats(); }
  std::int64_t padded(std::int64_t columns) const { return divide_up(columns, lanes_) * lanes_; }

  void add_phase(const ConvPhase& y, const ConvPhase& x, std::int64_t kernel_w) {
    PhasePair phase;
    phase.count_y = y.count;
    phase.count_x = x.count;
    phase.packed = packed_floats_;
    std::vector<shifted::Run> runs;
    const auto taps = static_cast<std::int64_t>(y.taps.size() * x.taps.size());
    const std::int64_t depth = taps * weights_.in;
    std::int64_t row = 0;
    for (const ConvTap& tap_y : y.taps) {
      for (const ConvTap& tap_x : x.taps) {
        const std::int64_t at = plan_.tap_offset(tap_y.at, tap_x.at);
        if (!runs.empty() && runs.back().at + runs.back().count == at) {
          runs.back().count += weights_.in;
        } else {
          runs.push_back({at, weights_.in});
        }
        packings_.push_back({tap_y.kernel * kernel_w + tap_x.kernel, row, phase.packed, depth});
        row += weights_.in;
      }
    }
    phase.runs = runs_of(runs, 1, panel_);
    const std::int64_t step_y = y.step * plan_.axis(1).out_size * weights_.out, step_x = x.step * weights_.out;
    const std::int64_t image = plan_.axis(0).out_size * plan_.axis(1).out_size * weights_.out;
    const std::int64_t first = y.first * plan_.axis(1).out_size * weights_.out + x.first * weights_.out;
    for (std::int64_t i = 0; i < plan_.images_per_block(); ++i) {
      for (std::int64_t qy = 0; qy < std::min(plan_.rows_per_block(), y.count); ++qy) {
        for (std::int64_t qx = 0; qx < x.count; ++qx) {
          phase.a_rows.push_back(plan_.window_offset(i, qy, qx));
          phase.c_rows.push_back(i * image + first + qy * step_y + qx * step_x);
        }
      }
    }
    packed_floats_ += phase.runs.depth * padded(weights_.out);
    phases_.push_back(std::move(phase));
  }

  // Rows [begin, end) of every kernel element, b[row, column] = w[column, row]; w is read in its own order.
  void pack(std::int64_t begin, std::int64_t end, const float* w, float* packed) const {
    for (std::int64_t first = 0; first < weights_.out; first += panel_) {
      const std::int64_t columns = std::min(panel_, weights_.out - first), width = padded(columns);
      for (std::int64_t column = 0; column < width; ++column) {
        for (std::int64_t row = begin; row < end; ++row) {
          const float* from = w + row * weights_.in_stride + (first + column) * weights_.out_stride;
          for (const Packing& packing : packings_) {
            float* to = packed + packing.at + first * packing.depth + (packing.first_row + row) * width;
            to[column] = column < columns ? from[packing.kernel] : 0.0F;
          }
        }
      }
    }
  }

  void multiply(const ConvBlock& block, const KernelArgs& args, float* scratch_window) const {
    const float* saved = plan_.activation() == graph::Activation::kNone ? nullptr : input(args, 2);
    const float* window = plan_.window(block, input(args, 0), saved, scratch_window);
    float* y = output(args, 0) + plan_.output(block);
    for (const PhasePair& phase : phases_) {
      const std::int64_t rows = std::min(block.rows, phase.count_y - block.row) * phase.count_x * block.images;
      for (std::int64_t first = 0; first < weights_.out; first += panel_) {
        for (std::int64_t row = 0; row < rows; row += kRows) {
          panel(phase, window, row, std::min(kRows, rows - row), first, args, y);
        }
      }
    }
  }

  // Outputs `first`.. of some rows of a phase, complete.
  void panel(const PhasePair& phase, const float* window, std::int64_t row, std::int64_t rows, std::int64_t first,
             const KernelArgs& args, float* y) const {
    const std::int64_t columns = std::min(panel_, weights_.out - first), width = padded(columns);
    const float* packed = scratch(args) + phase.packed + first * phase.runs.depth;
    shifted::Product product;
    product.rows = rows;
    product.columns = columns;
    product.a = window;
    product.a_rows = phase.a_rows.data() + row;
    product.b_stride = width;
    product.c = y + first;
    product.c_rows = phase.c_rows.data() + row;
    for (const RunGroup& group : phase.runs.groups) {
      product.runs = phase.runs.runs.data() + group.first_run;
      product.run_count = group.runs;
      product.b = packed + group.first_row * width;
      product.add = group.first_row > 0;
      shifted::multiply(product);
    }
    if (!bias_ && activation_ == graph::Activation::kNone) return;
    // The forward walk has one phase, whose outputs follow each other.
    const float* bias = bias_ ? input(args, 2) + first : nullptr;
    bias_activation_rows(activation_, bias, y + row * weights_.out + first, weights_.out, nullptr, 0, rows, columns);
  }

  // Rows whose inputs and sums stay in the L1 cache.
  static constexpr std::int64_t kRows = 128;
  // Rows of weights that a tile packs.
  static constexpr std::int64_t kPackedRows = 16;

  ConvPlan plan_;
  Weights weights_;
  graph::Activation activation_;
  bool bias_;
  std::int64_t lanes_, panel_ = 0, packed_floats_ = 0;
  std::vector<PhasePair> phases_;
  std::vector<Packing> packings_;
};

// Of a convolution that sums nothing: zeros, finished as any other.
std::unique_ptr<CpuKernel> empty_sums(const KernelRequest& request, graph::Activation activation, bool bias) {
  const std::int64_t rows = request.outputs[0].shape.rows(), columns = request.outputs[0].shape[-1];
  return tile_kernel({rows * columns == 0 ? 0 : 1}, Bytes(0), [=](std::size_t, std::int64_t, const KernelArgs& args) {
    std::fill_n(output(args, 0), rows * columns, 0.0F);
    bias_activation_rows(activation, bias ? input(args, 2) : nullptr, output(args, 0), columns, nullptr, 0, rows,
                         columns);
  });
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_conv2d(const KernelRequest& request) {
  const ConvShape s(request.inputs[0].shape, request.inputs[1].shape, request.outputs[0].shape,
                    graph::Conv2dAttributes::from(request.attributes));
  const bool bias = request.inputs.size() > 2;
  if (s.empty()) return empty_sums(request, s.conv.activation, bias);
  const ConvPlan plan(s.batch, {forward_axis(s, 0), forward_axis(s, 1)}, s.in, s.out);
  return std::make_unique<ConvKernel>(plan, Weights{s.in, s.out, s.window(), s.in * s.window()}, s.kernel[1],
                                      s.conv.activation, bias);
}

std::unique_ptr<CpuKernel> prepare_conv2d_grad_input(const KernelRequest& request) {
  const ConvShape s(request.outputs[0].shape, request.inputs[1].shape, request.inputs[0].shape,
                    graph::Conv2dGradInputAttributes::from(request.attributes).conv);
  if (s.empty()) return empty_sums(request, graph::Activation::kNone, false);
  const ConvPlan plan(s.batch, {gradient_axis(s, 0), gradient_axis(s, 1)}, s.out, s.in, s.conv.activation);
  return std::make_unique<ConvKernel>(plan, Weights{s.out, s.in, s.in * s.window(), s.window()}, s.kernel[1],
                                      graph::Activation::kNone, false);
}

}  // namespace headway::backend
