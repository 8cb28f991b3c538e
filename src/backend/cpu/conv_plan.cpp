#include "backend/cpu/conv_plan.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/cpu_kernel.h"

namespace headway::backend {
namespace {

// Floats of a block's window and outputs: well within a L2 cache.
constexpr std::int64_t kBlockFloats = 96 * 1024;
// Floats of the part of a panel that is used at a time: half of a L1 cache.
constexpr std::int64_t kPanelFloats = 6400;
// Blocks that threads can share out, and positions that are worth a block.
constexpr std::int64_t kBlocks = 8, kPositions = 256;

}  // namespace

std::int64_t ConvAxis::least() const {
  std::int64_t at = 0;
  bool found = false;
  for (const ConvPhase& phase : phases) {
    if (phase.taps.empty()) continue;
    at = found ? std::min(at, phase.taps.front().at) : phase.taps.front().at;
    found = true;
  }
  return at;
}

std::int64_t ConvAxis::most() const {
  std::int64_t at = least();
  for (const ConvPhase& phase : phases) {
    if (!phase.taps.empty()) at = std::max(at, phase.taps.back().at);
  }
  return at;
}

ConvAxis forward_axis(const ConvShape& s, std::size_t axis) {
  ConvPhase phase{0, 1, s.out_size[axis], {}};
  for (std::int64_t k = 0; k < s.kernel[axis]; ++k) {
    phase.taps.push_back({k, k * s.conv.dilation[axis] - s.conv.padding[axis].before});
  }
  return {s.size[axis], s.out_size[axis], s.conv.stride[axis], {phase}};
}

ConvAxis gradient_axis(const ConvShape& s, std::size_t axis) {
  // With one output position the stride says nothing: one past all inputs leaves every input a phase of its own, with
  // the one tap that it has.
  const std::int64_t past = s.size[axis] + s.conv.padding[axis].before + s.conv.dilation[axis] * s.kernel[axis];
  const std::int64_t stride = s.out_size[axis] == 1 ? past : s.conv.stride[axis];
  ConvAxis result{s.out_size[axis], s.size[axis], 1, {}};
  for (std::int64_t first = 0; first < std::min(stride, s.size[axis]); ++first) {
    ConvPhase phase{first, stride, divide_up(s.size[axis] - first, stride), {}};
    for (std::int64_t k = s.kernel[axis] - 1; k >= 0; --k) {
      const std::int64_t at = first + s.conv.padding[axis].before - k * s.conv.dilation[axis];
      if (at % stride == 0) phase.taps.push_back({k, at / stride});
    }
    result.phases.push_back(phase);
  }
  return result;
}

ConvPlan::ConvPlan(std::int64_t batch, std::array<ConvAxis, 2> axes, std::int64_t in_channels,
                   std::int64_t out_channels, graph::Activation activation)
    : batch_(batch),
      axes_(std::move(axes)),
      in_(in_channels),
      out_(out_channels),
      activation_(activation),
      copied_(axes_[0].padded() || axes_[1].padded() || activation != graph::Activation::kNone) {
  const ConvAxis& y = axes_[0];
  const ConvAxis& x = axes_[1];
  pitch_ = in_ * (copied_ ? x.reach(x.count()) : x.in_size);
  const auto floats = [&](std::int64_t rows) {
    return y.reach(rows) * pitch_ + rows * divide_up(y.out_size, y.count()) * x.out_size * out_;
  };
  // As many images as are worth it, or as many rows as fit, equally many in every band.
  if (floats(y.count()) <= kBlockFloats) {
    const std::int64_t worth = std::min(kBlockFloats / floats(y.count()), divide_up(kPositions, y.count() * x.count()));
    rows_ = y.count();
    images_ = std::clamp<std::int64_t>(batch_ / kBlocks, 1, worth);
  } else {
    std::int64_t fitting = 1;
    while (fitting < y.count() && floats(fitting + 1) <= kBlockFloats) ++fitting;
    rows_ = divide_up(y.count(), divide_up(y.count(), fitting));
  }
  // A small batch of large images: bands for all threads.
  while (images_ == 1 && batch_ * divide_up(y.count(), rows_) < kBlocks && rows_ * x.count() >= 2 * kPositions) {
    rows_ = divide_up(rows_, 2);
  }
  groups_ = divide_up(batch_, images_);
  bands_ = divide_up(y.count(), rows_);
  window_rows_ = y.reach(rows_);
  image_rows_ = copied_ ? window_rows_ : y.in_size;
}

ConvBlock ConvPlan::block(std::int64_t index) const {
  const std::int64_t image = index / bands_ * images_, row = index % bands_ * rows_;
  return {image, std::min(images_, batch_ - image), row, std::min(rows_, axes_[0].count() - row)};
}

std::int64_t ConvPlan::tap_offset(std::int64_t at_y, std::int64_t at_x) const {
  return copied_ ? (at_y - axes_[0].least()) * pitch_ + (at_x - axes_[1].least()) * in_ : at_y * pitch_ + at_x * in_;
}

std::int64_t ConvPlan::window_offset(std::int64_t image, std::int64_t qy, std::int64_t qx) const {
  return (image * image_rows_ + axes_[0].in_step * qy) * pitch_ + axes_[1].in_step * qx * in_;
}

std::int64_t ConvPlan::output(const ConvBlock& block) const {
  return (block.image * axes_[0].out_size + axes_[0].phases.front().step * block.row) * axes_[1].out_size * out_;
}

const float* ConvPlan::window(const ConvBlock& block, const float* x, const float* y, float* scratch) const {
  if (!copied_) return x + (block.image * axes_[0].in_size + axes_[0].in_step * block.row) * pitch_;
  copy_window(block, x, y, scratch);
  return scratch;
}

void ConvPlan::copy_window(const ConvBlock& block, const float* x, const float* saved, float* to) const {
  const std::int64_t height = axes_[0].in_size, width = axes_[1].in_size, least = axes_[1].least();
  const std::int64_t columns = pitch_ / in_;
  // Columns of the window: [0, left) zeros, [left, right) of x, the rest zeros.
  const std::int64_t left = std::clamp<std::int64_t>(-least, 0, columns);
  const std::int64_t right = std::clamp<std::int64_t>(width - least, left, columns);
  for (std::int64_t image = 0; image < block.images; ++image) {
    for (std::int64_t row = 0; row < axes_[0].reach(block.rows); ++row) {
      float* line = to + (image * image_rows_ + row) * pitch_;
      const std::int64_t y = axes_[0].in_step * block.row + axes_[0].least() + row;
      if (y < 0 || y >= height) {
        std::fill_n(line, pitch_, 0.0F);
        continue;
      }
      std::fill_n(line, left * in_, 0.0F);
      const std::int64_t from = (((block.image + image) * height + y) * width + left + least) * in_;
      const std::int64_t floats = (right - left) * in_;
      if (activation_ != graph::Activation::kNone) {
        activation_gradient(activation_, x + from, saved + from, line + left * in_, floats);
      } else if (floats > 0) {
        std::memcpy(line + left * in_, x + from, static_cast<std::size_t>(floats) * 4);
      }
      std::fill_n(line + right * in_, (columns - right) * in_, 0.0F);
    }
  }
}

ConvRuns runs_of(const std::vector<shifted::Run>& long_runs, std::int64_t step, std::int64_t panel) {
  ConvRuns result;
  for (const shifted::Run& run : long_runs) result.depth += run.count;
  const std::int64_t groups = divide_up(result.depth, std::max<std::int64_t>(kPanelFloats / panel, 1));
  const std::int64_t depth = groups == 0 ? 0 : divide_up(result.depth, groups);
  RunGroup group{0, 0, 0, 0};
  const auto close = [&] {
    result.groups.push_back(group);
    group = {static_cast<std::int64_t>(result.runs.size()), 0, group.first_row + group.depth, 0};
  };
  for (shifted::Run run : long_runs) {
    while (run.count > 0) {
      const std::int64_t part = std::min(run.count, depth - group.depth);
      result.runs.push_back({run.at, part});
      ++group.runs;
      group.depth += part;
      run = {run.at + part * step, run.count - part};
      if (group.depth == depth) close();
    }
  }
  // A phase that sees nothing is a product of depth 0: zeros.
  if (group.depth > 0 || result.groups.empty()) close();
  return result;
}

}  // namespace headway::backend
