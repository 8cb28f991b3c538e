#include "backend/cpu/bf16_product.h"

#include <map>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/cast.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/tile_kernel.h"
#include "graph/ops/linear.h"

namespace headway::backend {
namespace {

using dnnl::memory;

// Element (i, j) of a matrix is at i * row_stride + j * column_stride; one of the strides is 1.
struct Layout {
  std::int64_t row_stride = 0, column_stride = 0;
};

// The product as oneDNN computes it, a tile of rows and columns of c at a time; the inner axis is never cut, so the
// bits depend on the shape only.
class Bf16Product final : public CpuKernel {
 public:
  Bf16Product(const graph::MatmulShape& shape, Layout a, Layout b, const graph::LinearAttributes& epilogue, bool bias)
      : Bf16Product(shape, a, b, epilogue, bias, rows_of(shape), columns_of(shape)) {}

  std::string variant() const override { return variant_; }
  Bytes workspace() const override { return Bytes(stages()[0] * scratchpad_); }

  void run(std::size_t, std::int64_t tile, const KernelArgs& args) const override {
    const std::int64_t batch = tile / (rows_.tiles() * columns_.tiles()),
                       within = tile % (rows_.tiles() * columns_.tiles());
    const std::int64_t row_tile = within % rows_.tiles(), column_tile = within / rows_.tiles();
    const std::int64_t row = rows_.begin(row_tile), column = columns_.begin(column_tile);
    const std::int64_t rows = rows_.length(row_tile), columns = columns_.length(column_tile);
    const Piece& piece = pieces_.at({rows, columns});
    const auto* a = input<std::uint16_t>(args, 0) + batch * shape_.m * shape_.k + row * a_.row_stride;
    const auto* b = input<std::uint16_t>(args, 1) + batch * shape_.k * shape_.n + column * b_.column_stride;
    const std::int64_t at = (batch * shape_.m + row) * shape_.n + column;
    float* c = output(args, 0) + at;
    onednn::execute(piece.primitive, {{DNNL_ARG_SRC, piece.a, a},
                                      {DNNL_ARG_WEIGHTS, piece.b, b},
                                      {DNNL_ARG_DST, piece.c, c},
                                      {DNNL_ARG_SCRATCHPAD, piece.scratchpad, args.workspace + tile * scratchpad_}});
    if (!bias_ && !epilogue_.keep_pre && epilogue_.activation == graph::Activation::kNone) return;
    bias_activation_rows(epilogue_.activation, bias_ ? input(args, 2) + column : nullptr, c, shape_.n,
                         epilogue_.keep_pre ? output(args, 1) + at : nullptr, shape_.n, rows, columns);
  }

 private:
  struct Piece {
    dnnl::primitive primitive;
    memory::desc a, b, c, scratchpad;
  };

  Bf16Product(const graph::MatmulShape& shape, Layout a, Layout b, const graph::LinearAttributes& epilogue, bool bias,
              Grid rows, Grid columns)
      : CpuKernel({shape.batch * rows.tiles() * columns.tiles()}),
        shape_(shape),
        a_(a),
        b_(b),
        epilogue_(epilogue),
        bias_(bias),
        rows_(rows),
        columns_(columns) {
    const onednn::ForOneThread one;
    for (const std::int64_t row_tile : {std::int64_t{0}, rows_.tiles() - 1}) {
      for (const std::int64_t column_tile : {std::int64_t{0}, columns_.tiles() - 1}) {
        add_piece(rows_.length(row_tile), columns_.length(column_tile));
      }
    }
  }

  static Grid rows_of(const graph::MatmulShape& shape) {
    // Eight tiles where the rows allow it; 32 rows at least, or the tile registers stand half empty.
    const std::int64_t eighth = divide_up(shape.m * shape.batch, 8);
    const std::int64_t size = std::clamp<std::int64_t>(divide_up(eighth, 32) * 32, 32, 512);
    return {shape.m, std::min(size, shape.m)};
  }
  static Grid columns_of(const graph::MatmulShape& shape) {
    constexpr std::int64_t kMost = 1536;
    const std::int64_t tiles = divide_up(shape.n, kMost);
    return {shape.n, std::min(shape.n, divide_up(divide_up(shape.n, tiles), 64) * 64)};
  }

  void add_piece(std::int64_t rows, std::int64_t columns) {
    if (pieces_.contains({rows, columns})) return;
    using Type = memory::data_type;
    const memory::desc a({rows, shape_.k}, Type::bf16, memory::dims{a_.row_stride, a_.column_stride});
    const memory::desc b({shape_.k, columns}, Type::bf16, memory::dims{b_.row_stride, b_.column_stride});
    const memory::desc c({rows, columns}, Type::f32, memory::dims{shape_.n, 1});
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), onednn::user_scratchpad(),
                                                   onednn::engine());
    variant_ = std::string("onednn:") + description.impl_info_str();
    scratchpad_ = std::max(scratchpad_, onednn::padded_bytes(description.scratchpad_desc()));
    pieces_.emplace(std::pair(rows, columns), Piece{dnnl::matmul(description), a, b, c, description.scratchpad_desc()});
  }

  graph::MatmulShape shape_;
  Layout a_, b_;
  graph::LinearAttributes epilogue_;
  bool bias_;
  Grid rows_, columns_;
  std::map<std::pair<std::int64_t, std::int64_t>, Piece> pieces_;
  std::int64_t scratchpad_ = 0;
  std::string variant_;
};

// Where the processor has no arithmetic on bf16: both operands widened in stage 0, then the f32 kernel.
class WidenedKernel final : public CpuKernel {
 public:
  WidenedKernel(const KernelRequest& request, std::unique_ptr<CpuKernel> kernel)
      : CpuKernel(stages_of(request, *kernel)),
        kernel_(std::move(kernel)),
        first_(grid_of_operand(request, 0)),
        second_(grid_of_operand(request, 1)),
        own_(4 * (padded(first_.count) + padded(second_.count))) {}

  std::string variant() const override { return "widened:" + kernel_->variant(); }
  Bytes workspace() const override { return Bytes(own_) + kernel_->workspace(); }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    auto* widened = reinterpret_cast<float*>(args.workspace);
    float* second = widened + padded(first_.count);
    if (stage == 0) {
      const bool is_first = tile < first_.tiles();
      const Grid& grid = is_first ? first_ : second_;
      const std::int64_t begin = grid.begin(is_first ? tile : tile - first_.tiles());
      const auto* from = input<std::uint16_t>(args, is_first ? 0 : 1);
      f32_of_bf16(from + begin, (is_first ? widened : second) + begin, std::min(grid.size, grid.count - begin));
      return;
    }
    std::array<const void*, 3> inputs = {widened, second, nullptr};
    if (args.inputs.size() > 2) inputs[2] = args.inputs[2];
    kernel_->run(stage - 1, tile, {std::span(inputs).first(args.inputs.size()), args.outputs, args.workspace + own_});
  }

 private:
  static std::int64_t padded(std::int64_t floats) { return divide_up(floats, 16) * 16; }
  static Grid grid_of_operand(const KernelRequest& request, std::size_t index) {
    return flat_grid(request.inputs[index].shape.elements(), 2);
  }
  static std::vector<std::int64_t> stages_of(const KernelRequest& request, const CpuKernel& kernel) {
    std::vector<std::int64_t> stages = {grid_of_operand(request, 0).tiles() + grid_of_operand(request, 1).tiles()};
    stages.insert(stages.end(), kernel.stages().begin(), kernel.stages().end());
    return stages;
  }

  std::unique_ptr<CpuKernel> kernel_;
  Grid first_, second_;
  std::int64_t own_;  // bytes of the workspace before the inner kernel's
};

bool multiplies_bf16() {
  const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

using Prepare = std::unique_ptr<CpuKernel> (*)(const KernelRequest&);

std::unique_ptr<CpuKernel> widened(const KernelRequest& request, Prepare prepare) {
  std::vector<graph::TensorType> inputs(request.inputs.begin(), request.inputs.end());
  inputs[0].dtype = inputs[1].dtype = DType::kF32;
  return std::make_unique<WidenedKernel>(request, prepare({request.op, request.attributes, inputs, request.outputs}));
}

std::unique_ptr<CpuKernel> product_or_widened(const KernelRequest& request, const graph::MatmulShape& shape, Layout a,
                                              Layout b, const graph::LinearAttributes& epilogue, Prepare prepare) {
  if (shape.batch * shape.m * shape.n * shape.k == 0 || !multiplies_bf16()) return widened(request, prepare);
  try {
    return std::make_unique<Bf16Product>(shape, a, b, epilogue, request.inputs.size() > 2);
  } catch (const dnnl::error&) {
    return widened(request, prepare);
  }
}

}  // namespace

std::unique_ptr<CpuKernel> prepare_linear_bf16(const KernelRequest& request) {
  const Shape& w = request.inputs[1].shape;
  return product_or_widened(request, {1, request.inputs[0].shape.rows(), w[0], w[1]}, {w[1], 1}, {1, w[1]},
                            graph::LinearAttributes::from(request.attributes), prepare_linear);
}

std::unique_ptr<CpuKernel> prepare_matmul_bf16(const KernelRequest& request) {
  const auto attributes = graph::MatmulAttributes::from(request.attributes);
  const graph::MatmulShape s = graph::matmul_shape(attributes, request.inputs[0].shape, request.inputs[1].shape);
  const Layout a = attributes.transpose_a ? Layout{1, s.m} : Layout{s.k, 1};
  const Layout b = attributes.transpose_b ? Layout{1, s.k} : Layout{s.n, 1};
  return product_or_widened(request, s, a, b, {}, prepare_matmul);
}

}  // namespace headway::backend
