// conv2d_grad_weight as shifted products (shifted_product.h, conv_plan.h): dw [taps x in, out] = the sum over positions
// of what the taps see, times dy.
//
// Stage 0: a partial sum for every part of the batch, and for every range of rows of dw where these are many; a tile
// walks the blocks of its part, and within a block steps of positions whose dy stays in the L1 cache. Stage 1: the
// parts added in order, and turned into the layout of w.
#include <algorithm>
#include <vector>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/conv_plan.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile_kernel.h"

namespace headway::backend {
namespace {

// Partial sums take at most so much memory; tiles wanted; rows of dw in a tile of the last stage.
constexpr std::int64_t kPartialFloats = std::int64_t{1} << 20, kTiles = 8, kMostParts = 32, kSumRows = 16;

// Blocks cut into parts, each some consecutive blocks.
Grid parts_of(const ConvPlan& plan, std::int64_t partial) {
  const std::int64_t most = std::clamp<std::int64_t>(kPartialFloats / partial, 1, kMostParts);
  const std::int64_t parts = std::min(plan.blocks(), most);
  return {plan.blocks(), divide_up(plan.blocks(), parts)};
}

Grid rows_of(std::int64_t rows, std::int64_t parts) {
  const std::int64_t tiles = std::min(divide_up(kTiles, parts), divide_up(rows, 64));
  return {rows, divide_up(divide_up(rows, tiles), 8) * 8};
}

class ConvGradWeightKernel final : public CpuKernel {
 public:
  ConvGradWeightKernel(const ConvShape& shape, const ConvPlan& plan, bool bias)
      : ConvGradWeightKernel(shape, plan, bias, parts_of(plan, shape.window() * shape.in * shape.out)) {}

  std::string variant() const override { return "highway:shifted"; }
  Bytes workspace() const override {
    return Bytes(4 * (parts_.tiles() * partial_ + parts_.tiles() * rows_.tiles() * tile_floats()));
  }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    if (stage == 1) return add(tile, args);
    float* own = scratch(args) + parts_.tiles() * partial_ + tile * tile_floats();
    if (!on_stack()) return part(tile, args, own, own + gradient_floats());
    alignas(64) float window[kStackFloats];  // NOLINT(modernize-avoid-c-arrays): not initialised
    part(tile, args, own, window);
  }

 private:
  ConvGradWeightKernel(const ConvShape& shape, const ConvPlan& plan, bool bias, const Grid& parts)
      : ConvGradWeightKernel(shape, plan, bias, parts, rows_of(shape.window() * shape.in, parts.tiles())) {}

  ConvGradWeightKernel(const ConvShape& shape, const ConvPlan& plan, bool bias, const Grid& parts, const Grid& rows)
      : CpuKernel({parts.tiles() * rows.tiles(), divide_up(rows.count, kSumRows) + (bias ? 1 : 0)}),
        shape_(shape),
        plan_(plan),
        bias_(bias),
        parts_(parts),
        rows_(rows),
        sums_{rows.count, kSumRows},
        partial_(divide_up((rows.count + (bias ? 1 : 0)) * shape.out, 16) * 16) {
    const std::int64_t lanes = shifted::lanes(), panels = divide_up(shape.out, shifted::panel_columns());
    panel_ = divide_up(divide_up(shape.out, panels), lanes) * lanes;
    for (const ConvTap& y : plan.axis(0).phases[0].taps) {
      for (const ConvTap& x : plan.axis(1).phases[0].taps) {
        for (std::int64_t channel = 0; channel < shape.in; ++channel) {
          c_rows_.push_back(static_cast<std::int64_t>(a_rows_.size()) * shape.out);
          a_rows_.push_back(plan.tap_offset(y.at, x.at) + channel);
        }
      }
    }
    const std::int64_t last_images =
        shape.batch - (divide_up(shape.batch, plan.images_per_block()) - 1) * plan.images_per_block();
    const std::int64_t last_rows =
        plan.axis(0).count() - (divide_up(plan.axis(0).count(), plan.rows_per_block()) - 1) * plan.rows_per_block();
    whole_ = positions_of(plan.images_per_block(), plan.rows_per_block());
    fewer_images_ = positions_of(last_images, plan.rows_per_block());
    fewer_rows_ = positions_of(plan.images_per_block(), last_rows);
  }

  bool on_stack() const { return plan_.window_floats() <= kStackFloats; }
  // Scratch memory of a tile: dy of a block before the activation, and a window that the stack does not hold.
  std::int64_t gradient_floats() const {
    if (shape_.conv.activation == graph::Activation::kNone) return 0;
    const std::int64_t positions = plan_.images_per_block() * plan_.rows_per_block() * plan_.axis(1).count();
    return divide_up(positions * shape_.out, 16) * 16;
  }
  std::int64_t tile_floats() const { return gradient_floats() + (on_stack() ? 0 : plan_.window_floats()); }

  // The positions of a block as runs. Blocks of several images have all rows, so at most one of the two is less.
  ConvRuns positions_of(std::int64_t images, std::int64_t rows) const {
    std::vector<shifted::Run> runs;
    for (std::int64_t image = 0; image < images; ++image) {
      for (std::int64_t row = 0; row < rows; ++row) {
        runs.push_back({plan_.window_offset(image, row, 0), plan_.axis(1).count()});
      }
    }
    return runs_of(runs, plan_.position_step(), panel_);
  }

  void part(std::int64_t tile, const KernelArgs& args, float* scratch_dy, float* scratch_window) const {
    const std::int64_t part = tile % parts_.tiles(), rows = tile / parts_.tiles();
    float* sums = scratch(args) + part * partial_;
    for (std::int64_t i = 0; i < parts_.length(part); ++i) {
      const ConvBlock block = plan_.block(parts_.begin(part) + i);
      const float* window = plan_.window(block, input(args, 1), nullptr, scratch_window);
      const float* dy = input(args, 0) + plan_.output(block);
      const ConvRuns& positions = block.images < plan_.images_per_block() ? fewer_images_
                                  : block.rows < plan_.rows_per_block()   ? fewer_rows_
                                                                          : whole_;
      if (shape_.conv.activation != graph::Activation::kNone) {
        const float* y = input(args, 2) + plan_.output(block);
        activation_gradient(shape_.conv.activation, dy, y, scratch_dy, positions.depth * shape_.out);
        dy = scratch_dy;
      }
      for (const RunGroup& group : positions.groups) {
        multiply(positions, group, window, dy, rows, i > 0 || group.first_row > 0, sums);
      }
      if (bias_ && rows == 0) {
        shifted::sum_rows(dy, positions.depth, shape_.out, i > 0, sums + rows_.count * shape_.out);
      }
    }
  }

  void multiply(const ConvRuns& positions, const RunGroup& group, const float* window, const float* dy,
                std::int64_t rows, bool add, float* sums) const {
    shifted::Product product;
    product.rows = rows_.length(rows);
    product.a = window;
    product.a_rows = a_rows_.data() + rows_.begin(rows);
    product.runs = positions.runs.data() + group.first_run;
    product.run_count = group.runs;
    product.a_step = plan_.position_step();
    product.b_stride = shape_.out;
    product.c_rows = c_rows_.data() + rows_.begin(rows);
    product.add = add;
    for (std::int64_t first = 0; first < shape_.out; first += panel_) {
      product.columns = std::min(panel_, shape_.out - first);
      product.b = dy + group.first_row * shape_.out + first;
      product.c = sums + first;
      shifted::multiply(product);
    }
  }

  // Rows of dw, or the bias, summed over the parts in order; dw [out, in, kernel_h, kernel_w].
  void add(std::int64_t tile, const KernelArgs& args) const {
    const bool bias = tile == sums_.tiles();
    const std::int64_t begin = bias ? sums_.count : sums_.begin(tile), rows = bias ? 1 : sums_.length(tile);
    float* first = scratch(args) + begin * shape_.out;
    for (std::int64_t part = 1; part < parts_.tiles(); ++part) {
      const float* next = first + part * partial_;
      for (std::int64_t i = 0; i < rows * shape_.out; ++i) first[i] += next[i];
    }
    if (bias) {
      std::copy_n(first, shape_.out, output(args, 1));
      return;
    }
    const std::int64_t window = shape_.window();
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t kernel = (begin + i) / shape_.in, channel = (begin + i) % shape_.in;
      float* to = output(args, 0) + channel * window + kernel;
      for (std::int64_t out = 0; out < shape_.out; ++out) to[out * shape_.in * window] = first[i * shape_.out + out];
    }
  }

  ConvShape shape_;
  ConvPlan plan_;
  bool bias_;
  Grid parts_, rows_, sums_;
  std::int64_t partial_, panel_ = 0;
  std::vector<std::int64_t> a_rows_, c_rows_;
  ConvRuns whole_, fewer_images_, fewer_rows_;
};

// Of a convolution that multiplies nothing: dw is zeros, db what dy there is.
std::unique_ptr<CpuKernel> empty_sums(const KernelRequest& request, graph::Activation activation) {
  const std::int64_t size = request.outputs[0].shape.elements();
  const std::int64_t rows = request.inputs[0].shape.rows(), out = request.inputs[0].shape[-1];
  const bool bias = request.outputs.size() > 1;
  return tile_kernel({1}, Bytes(4 * rows * out), [=](std::size_t, std::int64_t, const KernelArgs& args) {
    std::fill_n(output(args, 0), size, 0.0F);
    if (!bias) return;
    const float* dy = input(args, 0);
    if (activation != graph::Activation::kNone) {
      activation_gradient(activation, dy, input(args, 2), scratch(args), rows * out);
      dy = scratch(args);
    }
    shifted::sum_rows(dy, rows, out, false, output(args, 1));
  });
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_conv2d_grad_weight(const KernelRequest& request) {
  const auto attributes = graph::Conv2dGradWeightAttributes::from(request.attributes);
  const ConvShape s(request.inputs[1].shape, request.outputs[0].shape, request.inputs[0].shape, attributes.conv);
  if (s.empty()) return empty_sums(request, attributes.conv.activation);
  const ConvPlan plan(s.batch, {forward_axis(s, 0), forward_axis(s, 1)}, s.in, s.out);
  return std::make_unique<ConvGradWeightKernel>(s, plan, attributes.bias);
}

}  // namespace headway::backend
