// BatchNorm with its fused activations: what it costs is passes over memory, two to read and one to write, forward; and
// two over both operands, backward.
//
// Channels-last rows of c channels are walked as rows of `width` = g c columns, so that few or odd channels fill whole
// vectors; what belongs to a channel is laid out g times. A tile is a run of such rows (the last may end within one),
// walked in blocks of columns that keep their constants and sums in registers.
//
// Statistics: a tile sums x - s and (x - s)^2 in f32, s being its own first row, so that a mean far above the spread
// costs no digits; tiles are combined in f64, in order (Chan, Golub, LeVeque 1979). With d the gradient of the norm:
//   dx = gamma rstd (d - mean(d) - h mean(d h)),  h = (x - mean) rstd,  dgamma = sum of d h,  dbeta = sum of d.
// The second pass goes through the tiles backwards: the last ones of the first pass are still in cache.
#include "graph/ops/batchnorm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_targets.h"
#include "backend/cpu/tile_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/batchnorm.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/vector_math-inl.h"

#ifndef HEADWAY_BACKEND_CPU_BATCHNORM_COLUMNS
#define HEADWAY_BACKEND_CPU_BATCHNORM_COLUMNS
namespace headway::backend {
namespace {

// Constants of each column, [width] each: norm = (x - mean) scale + beta, and in the gradient
// dx = scale d + slope (x - mean) + offset.
struct ChannelColumns {
  float *mean, *scale, *beta, *slope, *offset;
};

}  // namespace
}  // namespace headway::backend
#endif

HWY_BEFORE_NAMESPACE();
namespace headway::backend::HWY_NAMESPACE {
namespace {

// Two sums a column over the `length` elements of a tile. make(at, j) loads the constants of the columns from j on and
// gives add(at, offset, first, second), which adds the elements at `offset`.
template <class Make>
HWY_INLINE void reduce_columns(std::int64_t length, std::int64_t width, float* first, float* second, const Make& make) {
  const std::int64_t whole = length / width * width;
  std::int64_t j = 0;
  for (; whole > 0 && j + 4 * kLanes <= width; j += 4 * kLanes) {
    const Whole at;
    const auto add0 = make(at, j), add1 = make(at, j + kLanes);
    const auto add2 = make(at, j + 2 * kLanes), add3 = make(at, j + 3 * kLanes);
    FloatVector a0 = splat(0.0F), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (std::int64_t offset = j; offset < whole; offset += width) {
      add0(at, offset, a0, b0);
      add1(at, offset + kLanes, a1, b1);
      add2(at, offset + 2 * kLanes, a2, b2);
      add3(at, offset + 3 * kLanes, a3, b3);
    }
    at.store(a0, first + j);
    at.store(a1, first + j + kLanes);
    at.store(a2, first + j + 2 * kLanes);
    at.store(a3, first + j + 3 * kLanes);
    at.store(b0, second + j);
    at.store(b1, second + j + kLanes);
    at.store(b2, second + j + 2 * kLanes);
    at.store(b3, second + j + 3 * kLanes);
  }
  if (whole > 0) {
    for_each_vector(width - j, [&](auto at, std::int64_t column) HWY_ATTR {
      const auto add = make(at, j + column);
      FloatVector a = splat(0.0F), b = a;
      for (std::int64_t offset = j + column; offset < whole; offset += width) add(at, offset, a, b);
      at.store(a, first + j + column);
      at.store(b, second + j + column);
    });
  } else {
    std::fill(first, first + width, 0.0F);
    std::fill(second, second + width, 0.0F);
  }
  for_each_vector(length - whole, [&](auto at, std::int64_t column) HWY_ATTR {
    const auto add = make(at, column);
    FloatVector a = at.load(first + column), b = at.load(second + column);
    add(at, whole + column, a, b);
    at.store(a, first + column);
    at.store(b, second + column);
  });
}

// y[offset] = function(at, offset), function being make(at, j) for the columns from j on.
template <class Make>
HWY_INLINE void map_columns(std::int64_t length, std::int64_t width, float* y, const Make& make) {
  const std::int64_t whole = length / width * width;
  std::int64_t j = 0;
  for (; whole > 0 && j + 4 * kLanes <= width; j += 4 * kLanes) {
    const Whole at;
    const auto function0 = make(at, j), function1 = make(at, j + kLanes);
    const auto function2 = make(at, j + 2 * kLanes), function3 = make(at, j + 3 * kLanes);
    for (std::int64_t offset = j; offset < whole; offset += width) {
      const FloatVector v0 = function0(at, offset), v1 = function1(at, offset + kLanes);
      const FloatVector v2 = function2(at, offset + 2 * kLanes), v3 = function3(at, offset + 3 * kLanes);
      at.store(v0, y + offset);
      at.store(v1, y + offset + kLanes);
      at.store(v2, y + offset + 2 * kLanes);
      at.store(v3, y + offset + 3 * kLanes);
    }
  }
  if (whole > 0) {
    for_each_vector(width - j, [&](auto at, std::int64_t column) HWY_ATTR {
      const auto function = make(at, j + column);
      for (std::int64_t offset = j + column; offset < whole; offset += width)
        at.store(function(at, offset), y + offset);
    });
  }
  for_each_vector(length - whole, [&](auto at, std::int64_t column)
                                      HWY_ATTR { at.store(make(at, column)(at, whole + column), y + whole + column); });
}

// Sums of x - s and of its square, s being the first row.
void BatchMoments(const float* x, std::int64_t length, std::int64_t width, float* sums, float* squares) {
  reduce_columns(length, width, sums, squares, [&](auto first, std::int64_t j) HWY_ATTR {
    const FloatVector shift = first.load(x + j);
    return [=](auto at, std::int64_t offset, FloatVector& sum, FloatVector& square) HWY_ATTR {
      const FloatVector centred = hn::Sub(at.load(x + offset), shift);
      sum = hn::Add(sum, centred);
      square = hn::MulAdd(centred, centred, square);
    };
  });
}

void BatchNormalise(graph::Activation kind, const ChannelColumns& channels, const float* x, std::int64_t length,
                    std::int64_t width, float* y) {
  with_activation(kind, [&](auto activation) HWY_ATTR {
    map_columns(length, width, y, [&](auto first, std::int64_t j) HWY_ATTR {
      const FloatVector mean = first.load(channels.mean + j), scale = first.load(channels.scale + j);
      const FloatVector beta = first.load(channels.beta + j);
      return [=](auto at, std::int64_t offset)
                 HWY_ATTR { return activation.value(hn::MulAdd(hn::Sub(at.load(x + offset), mean), scale, beta)); };
    });
  });
}

// Sums of d and of d (x - mean).
void BatchGradSums(graph::Activation kind, const ChannelColumns& channels, const float* dy, const float* x,
                   std::int64_t length, std::int64_t width, float* sums, float* products) {
  with_activation(kind, [&](auto activation) HWY_ATTR {
    reduce_columns(length, width, sums, products, [&](auto first, std::int64_t j) HWY_ATTR {
      const FloatVector mean = first.load(channels.mean + j), scale = first.load(channels.scale + j);
      const FloatVector beta = first.load(channels.beta + j);
      return [=](auto at, std::int64_t offset, FloatVector& sum, FloatVector& product) HWY_ATTR {
        const FloatVector centred = hn::Sub(at.load(x + offset), mean);
        const FloatVector d = activation.gradient(hn::MulAdd(centred, scale, beta), at.load(dy + offset));
        sum = hn::Add(sum, d);
        product = hn::MulAdd(d, centred, product);
      };
    });
  });
}

// One of the two activations is none.
void BatchGradients(graph::Activation kind, graph::Activation before, const ChannelColumns& channels, const float* dy,
                    const float* x, std::int64_t length, std::int64_t width, float* dx) {
  const auto run = [&](auto activation, auto previous) HWY_ATTR {
    map_columns(length, width, dx, [&](auto first, std::int64_t j) HWY_ATTR {
      const FloatVector mean = first.load(channels.mean + j), scale = first.load(channels.scale + j);
      const FloatVector beta = first.load(channels.beta + j), slope = first.load(channels.slope + j);
      const FloatVector constant = first.load(channels.offset + j);
      return [=](auto at, std::int64_t offset) HWY_ATTR {
        const FloatVector value = at.load(x + offset), centred = hn::Sub(value, mean);
        const FloatVector d = activation.gradient(hn::MulAdd(centred, scale, beta), at.load(dy + offset));
        const FloatVector gradient = hn::MulAdd(d, scale, hn::MulAdd(centred, slope, constant));
        return previous.saved_gradient(value, gradient);
      };
    });
  };
  if (before.kind == graph::Activation::kNone) {
    with_activation(kind, [&](auto activation) HWY_ATTR { run(activation, Identity()); });
  } else {
    with_activation(before, [&](auto previous) HWY_ATTR { run(Identity(), previous); });
  }
}

}  // namespace
}  // namespace headway::backend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::backend {
namespace {

HWY_EXPORT(BatchMoments);
HWY_EXPORT(BatchNormalise);
HWY_EXPORT(BatchGradSums);
HWY_EXPORT(BatchGradients);

// How x [rows, channels] is cut, and where everything lies in the workspace.
class BatchLayout {
 public:
  static constexpr std::int64_t kBlock = 64;  // columns that fill whole vectors on every machine

  BatchLayout(const Shape& x, std::int64_t operands) : rows_(x.rows()), channels_(x[-1]) {
    // As many rows side by side as give a multiple of the block, or a block at least where that is too wide.
    const std::int64_t all = kBlock / std::gcd(kBlock, channels_), most = std::max<std::int64_t>(rows_, 1);
    const std::int64_t some = channels_ * all <= 16 * kBlock ? all : divide_up(kBlock, channels_);
    beside_ = std::min(some, most);
    grid_ = grid_of(divide_up(rows_, beside_), 4 * operands * width());
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t channels() const { return channels_; }
  std::int64_t width() const { return beside_ * channels_; }
  std::int64_t tiles() const { return grid_.tiles(); }
  Grid channel_blocks() const { return {channels_, 32}; }
  std::int64_t begin(std::int64_t tile) const { return grid_.begin(tile) * width(); }
  std::int64_t length(std::int64_t tile) const {
    return std::min(grid_.size * width(), rows_ * channels_ - begin(tile));
  }
  std::int64_t tile_rows(std::int64_t tile) const { return length(tile) / channels_; }
  // The rows of a tile that lie in column j.
  std::int64_t column_rows(std::int64_t tile, std::int64_t j) const {
    return length(tile) / width() + (j < length(tile) % width() ? 1 : 0);
  }

  // Workspace: two f64 a channel and tile, two f32 a column and tile, five constants a column.
  Bytes workspace() const { return Bytes(16 * tiles() * channels_ + 8 * tiles() * width() + 20 * width()); }
  double* partials(const KernelArgs& args, std::int64_t tile) const {
    return scratch<double>(args) + 2 * tile * channels_;
  }
  float* sums(const KernelArgs& args, std::int64_t tile) const {
    return reinterpret_cast<float*>(scratch<double>(args) + 2 * tiles() * channels_) + 2 * tile * width();
  }
  ChannelColumns columns(const KernelArgs& args) const {
    float* first = sums(args, tiles());
    return {first, first + width(), first + 2 * width(), first + 3 * width(), first + 4 * width()};
  }
  // Lays a channel's constant out over its columns.
  void spread(float* columns, std::int64_t channel, float value) const {
    for (std::int64_t j = channel; j < width(); j += channels_) columns[j] = value;
  }

 private:
  std::int64_t rows_, channels_, beside_ = 1;
  Grid grid_;
};

// Mean and sum of squared differences from it of `count` values, of which parts are added.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void add(double more, double its_mean, double its_squares) {
    if (more == 0) return;
    const double total = count + more, delta = its_mean - mean;
    mean += delta * more / total;
    squares += its_squares + delta * delta * count * more / total;
    count = total;
  }
};

class BatchNormKernel final {
 public:
  BatchNormKernel(const graph::BatchNormAttributes& attributes, const Shape& x)
      : attributes_(attributes), layout_(x, 2) {}

  const BatchLayout& layout() const { return layout_; }

  // The statistics of a tile.
  void measure(std::int64_t tile, const KernelArgs& args) const {
    const float* x = input(args, 0) + layout_.begin(tile);
    float *sums = layout_.sums(args, tile), *squares = sums + layout_.width();
    HWY_DYNAMIC_DISPATCH(BatchMoments)(x, layout_.length(tile), layout_.width(), sums, squares);
    double* partials = layout_.partials(args, tile);
    for (std::int64_t channel = 0; channel < layout_.channels(); ++channel) {
      Moments moments;
      for (std::int64_t j = channel; j < layout_.width(); j += layout_.channels()) {
        const auto count = static_cast<double>(layout_.column_rows(tile, j));
        if (count == 0) break;
        const double mean = sums[j] / count;
        moments.add(count, x[j] + mean, squares[j] - sums[j] * mean);
      }
      partials[2 * channel] = moments.mean;
      partials[2 * channel + 1] = moments.squares;
    }
  }

  // Statistics of a block of channels from those of the tiles, running ones too.
  void combine(std::int64_t block, const KernelArgs& args) const {
    const Grid blocks = layout_.channel_blocks();
    for (std::int64_t channel = blocks.begin(block); channel < blocks.begin(block) + blocks.length(block); ++channel) {
      Moments moments;
      for (std::int64_t tile = 0; tile < layout_.tiles(); ++tile) {
        const double* partials = layout_.partials(args, tile) + 2 * channel;
        moments.add(static_cast<double>(layout_.tile_rows(tile)), partials[0], partials[1]);
      }
      const double variance = moments.squares / moments.count, momentum = attributes_.momentum;
      const auto mean = static_cast<float>(moments.mean);
      const auto rstd = static_cast<float>(1 / std::sqrt(variance + attributes_.eps));
      output(args, 1)[channel] = mean;
      output(args, 2)[channel] = rstd;
      const double unbiased = moments.squares / (moments.count - 1);
      output(args, 3)[channel] = static_cast<float>((1 - momentum) * input(args, 3)[channel] + momentum * moments.mean);
      output(args, 4)[channel] = static_cast<float>((1 - momentum) * input(args, 4)[channel] + momentum * unbiased);
      set_columns(channel, mean, rstd, args);
    }
  }

  // The columns of a block of channels from the running statistics.
  void use_running(std::int64_t block, const KernelArgs& args) const {
    const Grid blocks = layout_.channel_blocks();
    for (std::int64_t channel = blocks.begin(block); channel < blocks.begin(block) + blocks.length(block); ++channel) {
      const double variance = input(args, 4)[channel];
      set_columns(channel, input(args, 3)[channel], static_cast<float>(1 / std::sqrt(variance + attributes_.eps)),
                  args);
    }
  }

  void normalise(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t begin = layout_.begin(tile);
    HWY_DYNAMIC_DISPATCH(BatchNormalise)
    (attributes_.activation, layout_.columns(args), input(args, 0) + begin, layout_.length(tile), layout_.width(),
     output(args, 0) + begin);
  }

 private:
  void set_columns(std::int64_t channel, float mean, float rstd, const KernelArgs& args) const {
    const ChannelColumns columns = layout_.columns(args);
    layout_.spread(columns.mean, channel, mean);
    layout_.spread(columns.scale, channel, rstd * input(args, 1)[channel]);
    layout_.spread(columns.beta, channel, input(args, 2)[channel]);
  }

  graph::BatchNormAttributes attributes_;
  BatchLayout layout_;
};

class BatchNormGradKernel final {
 public:
  BatchNormGradKernel(const graph::BatchNormGradAttributes& attributes, const Shape& x)
      : attributes_(attributes), layout_(x, 3) {}

  const BatchLayout& layout() const { return layout_; }

  void set_columns(std::int64_t block, const KernelArgs& args) const {
    const ChannelColumns columns = layout_.columns(args);
    const Grid blocks = layout_.channel_blocks();
    for (std::int64_t channel = blocks.begin(block); channel < blocks.begin(block) + blocks.length(block); ++channel) {
      layout_.spread(columns.mean, channel, input(args, 2)[channel]);
      layout_.spread(columns.scale, channel, input(args, 3)[channel] * input(args, 4)[channel]);
      layout_.spread(columns.beta, channel, input(args, 5)[channel]);
    }
  }

  // The sums of a tile.
  void measure(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t begin = layout_.begin(tile);
    float *sums = layout_.sums(args, tile), *products = sums + layout_.width();
    HWY_DYNAMIC_DISPATCH(BatchGradSums)
    (attributes_.activation, layout_.columns(args), input(args, 0) + begin, input(args, 1) + begin,
     layout_.length(tile), layout_.width(), sums, products);
    double* partials = layout_.partials(args, tile);
    for (std::int64_t channel = 0; channel < layout_.channels(); ++channel) {
      double sum = 0, product = 0;
      for (std::int64_t j = channel; j < layout_.width(); j += layout_.channels()) {
        sum += sums[j];
        product += products[j];
      }
      partials[2 * channel] = sum;
      partials[2 * channel + 1] = product;
    }
  }

  void combine(std::int64_t block, const KernelArgs& args) const {
    const ChannelColumns columns = layout_.columns(args);
    const Grid blocks = layout_.channel_blocks();
    const auto rows = static_cast<double>(layout_.rows());
    for (std::int64_t channel = blocks.begin(block); channel < blocks.begin(block) + blocks.length(block); ++channel) {
      double sum = 0, product = 0;
      for (std::int64_t tile = 0; tile < layout_.tiles(); ++tile) {
        const double* partials = layout_.partials(args, tile) + 2 * channel;
        sum += partials[0];
        product += partials[1];
      }
      const double rstd = input(args, 3)[channel], scale = rstd * input(args, 4)[channel];
      output(args, 1)[channel] = static_cast<float>(product * rstd);
      output(args, 2)[channel] = static_cast<float>(sum);
      layout_.spread(columns.slope, channel, static_cast<float>(-scale * rstd * rstd * product / rows));
      layout_.spread(columns.offset, channel, static_cast<float>(-scale * sum / rows));
    }
  }

  void differentiate(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t begin = layout_.begin(tile);
    HWY_DYNAMIC_DISPATCH(BatchGradients)
    (attributes_.activation, attributes_.before, layout_.columns(args), input(args, 0) + begin, input(args, 1) + begin,
     layout_.length(tile), layout_.width(), output(args, 0) + begin);
  }

 private:
  graph::BatchNormGradAttributes attributes_;
  BatchLayout layout_;
};

std::unique_ptr<CpuKernel> nothing() {
  return tile_kernel({}, Bytes(0), [](std::size_t, std::int64_t, const KernelArgs&) {});
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_batchnorm(const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape;
  if (x.elements() == 0) return nothing();
  const auto attributes = graph::BatchNormAttributes::from(request.attributes);
  const BatchNormKernel kernel(attributes, x);
  const BatchLayout& layout = kernel.layout();
  const std::int64_t tiles = layout.tiles(), blocks = layout.channel_blocks().tiles();
  if (attributes.evaluation) {
    return tile_kernel({blocks, tiles}, layout.workspace(),
                       [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                         if (stage == 0) return kernel.use_running(tile, args);
                         kernel.normalise(tile, args);
                       });
  }
  return tile_kernel({tiles, blocks, tiles}, layout.workspace(),
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       if (stage == 0) return kernel.measure(tile, args);
                       if (stage == 1) return kernel.combine(tile, args);
                       kernel.normalise(tiles - 1 - tile, args);
                     });
}

std::unique_ptr<CpuKernel> prepare_batchnorm_grad(const KernelRequest& request) {
  const Shape& x = request.inputs[1].shape;
  if (x.elements() == 0) return nothing();
  const BatchNormGradKernel kernel(graph::BatchNormGradAttributes::from(request.attributes), x);
  const BatchLayout& layout = kernel.layout();
  const std::int64_t tiles = layout.tiles(), blocks = layout.channel_blocks().tiles();
  return tile_kernel({blocks, tiles, blocks, tiles}, layout.workspace(),
                     [=](std::size_t stage, std::int64_t tile, const KernelArgs& args) {
                       if (stage == 0) return kernel.set_columns(tile, args);
                       if (stage == 1) return kernel.measure(tile, args);
                       if (stage == 2) return kernel.combine(tile, args);
                       kernel.differentiate(tiles - 1 - tile, args);
                     });
}

}  // namespace headway::backend
#endif  // HWY_ONCE
