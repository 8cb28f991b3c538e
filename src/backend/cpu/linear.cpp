// linear: y = activation(x w^T + b).
//
// Stage 0 packs the weights; stage 1 multiplies tiles of rows and columns, and finishes every panel of a tile (bias,
// activation) while it is in cache.
#include "graph/ops/linear.h"

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/rows_product.h"

namespace headway::backend {
namespace {

class LinearKernel final : public CpuKernel {
 public:
  LinearKernel(const graph::LinearAttributes& attributes, bool bias, std::int64_t n, const RowsProduct& product)
      : CpuKernel({product.packing_tiles(), product.tiles()}),
        attributes_(attributes),
        bias_(bias),
        n_(n),
        product_(product) {}

  std::string variant() const override { return product_.variant(); }
  Bytes workspace() const override { return Bytes(4 * product_.packed_floats()); }

  void run(std::size_t stage, std::int64_t tile, const KernelArgs& args) const override {
    const float* w = input(args, 1);
    if (stage == 0) return product_.pack(tile, w, scratch(args));
    float* y = output(args, 0);
    const bool plain = !bias_ && !attributes_.keep_pre && attributes_.activation == graph::Activation::kNone;
    product_.run(tile, input(args, 0), w, scratch(args), y,
                 [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
                   if (plain) return;
                   const std::int64_t at = row * n_ + column;
                   bias_activation_rows(attributes_.activation, bias_ ? input(args, 2) + column : nullptr, y + at, n_,
                                        attributes_.keep_pre ? output(args, 1) + at : nullptr, n_, rows, columns);
                 });
  }

 private:
  graph::LinearAttributes attributes_;
  bool bias_;
  std::int64_t n_;
  RowsProduct product_;
};

}  // namespace

std::unique_ptr<CpuKernel> prepare_linear(const KernelRequest& request) {
  const Shape& w = request.inputs[1].shape;
  return std::make_unique<LinearKernel>(graph::LinearAttributes::from(request.attributes), request.inputs.size() > 2,
                                        w[0], RowsProduct(request.inputs[0].shape.rows(), w[0], w[1], true));
}

}  // namespace headway::backend
