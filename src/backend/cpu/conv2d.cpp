// conv2d and its gradients on oneDNN: the batch is cut into tiles, each a convolution of a few images on one thread.
//
// Activations are used as they are (channels-last); weights are reordered once a launch to the layout that oneDNN asks
// for. The gradient of the weights is a partial sum per tile in that layout; the partial sums add in tile order.
#include "graph/ops/conv2d.h"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/tile_kernel.h"
#include "base/error.h"

namespace headway::backend {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc f32(const memory::dims& dims, Tag tag) {
  return {dims, memory::data_type::f32, tag};
}

// The sizes of a convolution: x [batch, height, width, in], w [out, in, kernel_h, kernel_w], y [.., out].
struct ConvShape {
  std::int64_t batch, height, width, in, out, out_height, out_width, kernel_h, kernel_w;
  graph::Conv2dAttributes conv;

  ConvShape(const Shape& x, const Shape& w, const Shape& y, const graph::Conv2dAttributes& attributes)
      : batch(x[0]),
        height(x[1]),
        width(x[2]),
        in(x[3]),
        out(w[0]),
        out_height(y[1]),
        out_width(y[2]),
        kernel_h(w[2]),
        kernel_w(w[3]),
        conv(attributes) {}

  std::int64_t x_image() const { return height * width * in; }
  std::int64_t y_image() const { return out_height * out_width * out; }
  bool empty() const { return batch * x_image() * y_image() * kernel_h * kernel_w == 0; }

  // oneDNN names sizes [n, c, h, w] whatever the layout.
  memory::desc x(std::int64_t images) const { return f32({images, in, height, width}, Tag::nhwc); }
  memory::desc y(std::int64_t images) const { return f32({images, out, out_height, out_width}, Tag::nhwc); }
  memory::dims w_dims() const { return {out, in, kernel_h, kernel_w}; }
  memory::desc w() const { return f32(w_dims(), Tag::oihw); }
  memory::desc any_w() const { return f32(w_dims(), Tag::any); }
  memory::desc bias() const { return f32({out}, Tag::x); }

  memory::dims stride() const { return {conv.stride[0], conv.stride[1]}; }
  memory::dims dilation() const { return {conv.dilation[0] - 1, conv.dilation[1] - 1}; }  // oneDNN: 0 is dense
  memory::dims padding() const { return {conv.padding[0], conv.padding[1]}; }
  // What the windows reach behind the last row or column: less than `padding` where the stride leaves some over.
  memory::dims padding_after() const {
    const auto after = [&](std::size_t axis, std::int64_t size, std::int64_t kernel, std::int64_t out_size) {
      return (out_size - 1) * conv.stride[axis] + conv.dilation[axis] * (kernel - 1) + 1 - size - conv.padding[axis];
    };
    return {after(0, height, kernel_h, out_height), after(1, width, kernel_w, out_width)};
  }
};

// Images of a tile: about 512 KiB of activations, and at least eight tiles where the batch allows.
Grid batch_grid(const ConvShape& s) {
  if (s.empty()) return {0, 1};
  const std::int64_t fitting = rows_per_tile(s.batch, 4 * (s.x_image() + s.y_image()), 512 * 1024);
  return {s.batch, std::max<std::int64_t>(1, std::min(fitting, divide_up(s.batch, 8)))};
}

// Regions of the workspace, each on cache lines.
class Layout {
 public:
  std::int64_t add(std::int64_t bytes) {
    const std::int64_t at = size_;
    size_ += divide_up(bytes, 64) * 64;
    return at;
  }
  Bytes size() const { return Bytes(size_); }

 private:
  std::int64_t size_ = 0;
};

// A primitive for the tiles of a grid, and another one for a shorter last tile.
template <class Primitive>
class OfGrid {
 public:
  using Description = typename Primitive::primitive_desc;

  // describe(images) makes the description for a tile of so many images.
  template <class Describe>
  OfGrid(const Grid& grid, const Describe& describe)
      : images_(grid.size), whole_(describe(grid.size)), run_whole_(whole_) {
    const std::int64_t last = grid.count % grid.size;
    if (last == 0) return;
    last_ = describe(last);
    run_last_ = Primitive(*last_);
  }

  const Description& whole() const { return whole_; }
  const Description& of(std::int64_t images) const { return images == images_ ? whole_ : *last_; }
  const Primitive& run_of(std::int64_t images) const { return images == images_ ? run_whole_ : *run_last_; }
  std::int64_t scratchpad() const {
    const std::int64_t last = last_ ? onednn::padded_bytes(last_->scratchpad_desc()) : 0;
    return std::max(last, onednn::padded_bytes(whole_.scratchpad_desc()));
  }

 private:
  std::int64_t images_;
  Description whole_;
  Primitive run_whole_;
  std::optional<Description> last_;
  std::optional<Primitive> run_last_;
};

// A change of the layout of weights.
class Reorder {
 public:
  Reorder(const memory::desc& from, const memory::desc& to)
      : from_(from),
        to_(to),
        description_(onednn::engine(), from, onednn::engine(), to, onednn::user_scratchpad()),
        primitive_(description_) {}

  std::int64_t scratchpad() const { return onednn::padded_bytes(description_.scratchpad_desc()); }
  void run(const void* from, void* to, void* scratchpad) const {
    onednn::execute(primitive_, {{DNNL_ARG_FROM, from_, from},
                                 {DNNL_ARG_TO, to_, to},
                                 {DNNL_ARG_SCRATCHPAD, description_.scratchpad_desc(), scratchpad}});
  }

 private:
  memory::desc from_, to_;
  dnnl::reorder::primitive_desc description_;
  dnnl::reorder primitive_;
};

// conv2d and conv2d_grad_input. Stage 0: the weights' layout; stage 1: tiles of images.
template <class Primitive>
class ConvKernel final : public CpuKernel {
 public:
  ConvKernel(const ConvShape& shape, const Grid& grid, OfGrid<Primitive> primitives, bool bias)
      : CpuKernel({1, grid.tiles()}),
        shape_(shape),
        grid_(grid),
        primitives_(std::move(primitives)),
        reorder_(shape.w(), primitives_.whole().weights_desc()),
        bias_(bias) {
    weights_ = layout_.add(onednn::padded_bytes(primitives_.whole().weights_desc()));
    scratchpads_ = layout_.add(std::max(reorder_.scratchpad(), grid.tiles() * primitives_.scratchpad()));
  }

  Bytes workspace() const override { return layout_.size(); }
  std::string variant() const override { return std::string("onednn:") + primitives_.whole().impl_info_str(); }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    std::byte* weights = args.workspace + weights_;
    std::byte* scratchpads = args.workspace + scratchpads_;
    if (stage == 0) return reorder_.run(args.inputs[1], weights, scratchpads);
    const std::int64_t first = grid_.begin(tile), images = grid_.length(tile);
    const auto& description = primitives_.of(images);
    const Primitive& primitive = primitives_.run_of(images);
    const onednn::Operand w{DNNL_ARG_WEIGHTS, description.weights_desc(), weights};
    const onednn::Operand scratchpad{DNNL_ARG_SCRATCHPAD, description.scratchpad_desc(),
                                     scratchpads + tile * primitives_.scratchpad()};
    if constexpr (std::is_same_v<Primitive, dnnl::convolution_forward>) {
      const onednn::Operand x{DNNL_ARG_SRC, description.src_desc(), input(args, 0) + first * shape_.x_image()};
      const onednn::Operand y{DNNL_ARG_DST, description.dst_desc(), output(args, 0) + first * shape_.y_image()};
      if (!bias_) return onednn::execute(primitive, {x, w, y, scratchpad});
      const onednn::Operand bias{DNNL_ARG_BIAS, description.bias_desc(), args.inputs[2]};
      onednn::execute(primitive, {x, w, bias, y, scratchpad});
    } else {
      const onednn::Operand dy{DNNL_ARG_DIFF_DST, description.diff_dst_desc(),
                               input(args, 0) + first * shape_.y_image()};
      const onednn::Operand dx{DNNL_ARG_DIFF_SRC, description.diff_src_desc(),
                               output(args, 0) + first * shape_.x_image()};
      onednn::execute(primitive, {dy, w, dx, scratchpad});
    }
  }

 private:
  ConvShape shape_;
  Grid grid_;
  OfGrid<Primitive> primitives_;
  Reorder reorder_;
  bool bias_;
  Layout layout_;
  std::int64_t weights_ = 0, scratchpads_ = 0;
};

// conv2d_grad_weight. Stage 0: a partial sum per tile of images; stage 1: their sums, in order; stage 2: the result's
// layout.
class ConvGradWeightKernel final : public CpuKernel {
 public:
  using Primitive = dnnl::convolution_backward_weights;

  ConvGradWeightKernel(const ConvShape& shape, const Grid& grid, const OfGrid<Primitive>& primitives, bool bias)
      : ConvGradWeightKernel(shape, grid, primitives, bias,
                             Grid{onednn::padded_bytes(primitives.whole().diff_weights_desc()) / 4, 4096}) {}

  Bytes workspace() const override { return layout_.size(); }
  std::string variant() const override { return std::string("onednn:") + primitives_.whole().impl_info_str(); }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    if (stage == 0) return partial(tile, args);
    if (stage == 1) return add(tile, args);
    reorder_.run(args.workspace + partials_, args.outputs[0], args.workspace + scratchpads_);
  }

 private:
  ConvGradWeightKernel(const ConvShape& shape, const Grid& grid, const OfGrid<Primitive>& primitives, bool bias,
                       const Grid& sums)
      : CpuKernel({grid.tiles(), sums.tiles() + (bias ? 1 : 0), 1}),
        shape_(shape),
        grid_(grid),
        sums_(sums),
        primitives_(primitives),
        reorder_(primitives_.whole().diff_weights_desc(), shape.w()),
        bias_(bias) {
    partial_bytes_ = 4 * sums_.count;
    bias_bytes_ = bias ? divide_up(4 * shape.out, 64) * 64 : 0;
    partials_ = layout_.add(grid.tiles() * partial_bytes_);
    biases_ = layout_.add(grid.tiles() * bias_bytes_);
    scratchpads_ = layout_.add(std::max(reorder_.scratchpad(), grid.tiles() * primitives_.scratchpad()));
  }

  void partial(std::int64_t tile, const KernelArgs& args) const {
    const std::int64_t first = grid_.begin(tile), images = grid_.length(tile);
    const auto& description = primitives_.of(images);
    const Primitive& primitive = primitives_.run_of(images);
    const onednn::Operand x{DNNL_ARG_SRC, description.src_desc(), input(args, 1) + first * shape_.x_image()};
    const onednn::Operand dy{DNNL_ARG_DIFF_DST, description.diff_dst_desc(), input(args, 0) + first * shape_.y_image()};
    const onednn::Operand dw{DNNL_ARG_DIFF_WEIGHTS, description.diff_weights_desc(),
                             args.workspace + partials_ + tile * partial_bytes_};
    const onednn::Operand scratchpad{DNNL_ARG_SCRATCHPAD, description.scratchpad_desc(),
                                     args.workspace + scratchpads_ + tile * primitives_.scratchpad()};
    if (!bias_) return onednn::execute(primitive, {x, dy, dw, scratchpad});
    const onednn::Operand db{DNNL_ARG_DIFF_BIAS, description.diff_bias_desc(),
                             args.workspace + biases_ + tile * bias_bytes_};
    onednn::execute(primitive, {x, dy, dw, db, scratchpad});
  }

  // sums[i] = the sum over tiles, in order, of `length` floats that lie `step` bytes apart; sums may be the first.
  void sum_of(const std::byte* partials, std::int64_t step, std::int64_t length, float* sums) const {
    const auto* first = reinterpret_cast<const float*>(partials);
    for (std::int64_t i = 0; i < length; ++i) sums[i] = first[i];
    for (std::int64_t tile = 1; tile < grid_.tiles(); ++tile) {
      const auto* next = reinterpret_cast<const float*>(partials + tile * step);
      for (std::int64_t i = 0; i < length; ++i) sums[i] += next[i];
    }
  }

  void add(std::int64_t tile, const KernelArgs& args) const {
    if (tile == sums_.tiles()) return sum_of(args.workspace + biases_, bias_bytes_, shape_.out, output(args, 1));
    std::byte* first = args.workspace + partials_ + 4 * sums_.begin(tile);
    sum_of(first, partial_bytes_, sums_.length(tile), reinterpret_cast<float*>(first));
  }

  ConvShape shape_;
  Grid grid_, sums_;
  OfGrid<Primitive> primitives_;
  Reorder reorder_;
  bool bias_;
  Layout layout_;
  std::int64_t partial_bytes_ = 0, bias_bytes_ = 0, partials_ = 0, biases_ = 0, scratchpads_ = 0;
};

dnnl::post_ops post_activation(graph::Activation activation) {
  using graph::Activation, dnnl::algorithm;
  struct Row {
    Activation::Kind kind;
    algorithm function;
    float alpha;
  };
  const std::array<Row, 7> rows = {
      Row{Activation::kRelu, algorithm::eltwise_relu, 0},
      {Activation::kLeakyRelu, algorithm::eltwise_relu, static_cast<float>(activation.slope)},
      {Activation::kGeluErf, algorithm::eltwise_gelu_erf, 0},
      {Activation::kGeluTanh, algorithm::eltwise_gelu_tanh, 0},
      {Activation::kSilu, algorithm::eltwise_swish, 1},
      {Activation::kTanh, algorithm::eltwise_tanh, 0},
      {Activation::kSigmoid, algorithm::eltwise_logistic, 0}};
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& candidate) { return candidate.kind == activation.kind; });
  HEADWAY_CHECK(row != rows.end(), "no such activation");
  dnnl::post_ops operations;
  operations.append_eltwise(1.0F, row->function, row->alpha, 0.0F);
  return operations;
}

dnnl::convolution_forward::primitive_desc forward_description(const ConvShape& s, std::int64_t images, bool bias,
                                                              const memory::desc& weights) {
  dnnl::primitive_attr attributes = onednn::user_scratchpad();
  if (s.conv.activation.kind != graph::Activation::kNone) attributes.set_post_ops(post_activation(s.conv.activation));
  using Desc = dnnl::convolution_forward::desc;
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const Desc description = bias ? Desc(kind, algorithm, s.x(images), weights, s.bias(), s.y(images), s.stride(),
                                       s.dilation(), s.padding(), s.padding_after())
                                : Desc(kind, algorithm, s.x(images), weights, s.y(images), s.stride(), s.dilation(),
                                       s.padding(), s.padding_after());
  return {description, attributes, onednn::engine()};
}

dnnl::convolution_backward_data::primitive_desc grad_input_description(const ConvShape& s, std::int64_t images,
                                                                       const memory::desc& weights) {
  const dnnl::convolution_backward_data::desc description(dnnl::algorithm::convolution_direct, s.x(images), weights,
                                                          s.y(images), s.stride(), s.dilation(), s.padding(),
                                                          s.padding_after());
  return {description, onednn::user_scratchpad(), onednn::engine(), forward_description(s, images, false, s.any_w())};
}

dnnl::convolution_backward_weights::primitive_desc grad_weight_description(const ConvShape& s, std::int64_t images,
                                                                           bool bias, const memory::desc& weights) {
  using Desc = dnnl::convolution_backward_weights::desc;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const Desc description = bias ? Desc(algorithm, s.x(images), weights, s.bias(), s.y(images), s.stride(), s.dilation(),
                                       s.padding(), s.padding_after())
                                : Desc(algorithm, s.x(images), weights, s.y(images), s.stride(), s.dilation(),
                                       s.padding(), s.padding_after());
  return {description, onednn::user_scratchpad(), onednn::engine(), forward_description(s, images, bias, s.any_w())};
}

// The gradients of a convolution of nothing: zeros.
std::unique_ptr<CpuKernel> zeros(const KernelRequest& request) {
  std::vector<std::int64_t> sizes;
  for (const graph::TensorType& type : request.outputs) sizes.push_back(type.shape.elements());
  const auto outputs = static_cast<std::int64_t>(sizes.size());
  return tile_kernel({outputs}, Bytes(0), [sizes](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const auto index = static_cast<std::size_t>(tile);
    std::fill_n(output(args, index), sizes[index], 0.0F);
  });
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_conv2d(const KernelRequest& request) {
  const ConvShape shape(request.inputs[0].shape, request.inputs[1].shape, request.outputs[0].shape,
                        graph::Conv2dAttributes::from(request.attributes));
  if (shape.empty()) return zeros(request);
  const bool bias = request.inputs.size() > 2;
  const Grid grid = batch_grid(shape);
  const onednn::ForOneThread one;
  using Primitive = dnnl::convolution_forward;
  memory::desc weights = shape.any_w();
  OfGrid<Primitive> primitives(grid, [&](std::int64_t images) {
    auto description = forward_description(shape, images, bias, weights);
    weights = description.weights_desc();
    return description;
  });
  return std::make_unique<ConvKernel<Primitive>>(shape, grid, std::move(primitives), bias);
}

std::unique_ptr<CpuKernel> prepare_conv2d_grad_input(const KernelRequest& request) {
  const ConvShape shape(request.outputs[0].shape, request.inputs[1].shape, request.inputs[0].shape,
                        graph::Conv2dGradInputAttributes::from(request.attributes).conv);
  if (shape.empty()) return zeros(request);
  const Grid grid = batch_grid(shape);
  const onednn::ForOneThread one;
  using Primitive = dnnl::convolution_backward_data;
  memory::desc weights = shape.any_w();
  OfGrid<Primitive> primitives(grid, [&](std::int64_t images) {
    auto description = grad_input_description(shape, images, weights);
    weights = description.weights_desc();
    return description;
  });
  return std::make_unique<ConvKernel<Primitive>>(shape, grid, std::move(primitives), false);
}

std::unique_ptr<CpuKernel> prepare_conv2d_grad_weight(const KernelRequest& request) {
  const auto attributes = graph::Conv2dGradWeightAttributes::from(request.attributes);
  const ConvShape shape(request.inputs[1].shape, request.outputs[0].shape, request.inputs[0].shape, attributes.conv);
  if (shape.empty()) return zeros(request);
  const Grid grid = batch_grid(shape);
  const onednn::ForOneThread one;
  using Primitive = dnnl::convolution_backward_weights;
  memory::desc weights = shape.any_w();
  const OfGrid<Primitive> primitives(grid, [&](std::int64_t images) {
    auto description = grad_weight_description(shape, images, attributes.bias, weights);
    weights = description.diff_weights_desc();
    return description;
  });
  return std::make_unique<ConvGradWeightKernel>(shape, grid, primitives, attributes.bias);
}

}  // namespace headway::backend
