#include "graph/ops/conv2d.h"

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

std::size_t offset(const Shape& shape, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return static_cast<std::size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] + d);
}

// Calls body(x offset, w offset, y offset) for every multiply-add of the convolution of x [n, h, w, in] with
// w [out, in, kh, kw] to y [n, oh, ow, out]; what falls on the padding is left out.
template <class Body>
void for_each_product(const graph::Conv2dAttributes& conv, const Shape& x, const Shape& w, const Shape& y, Body body) {
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t oy = 0; oy < y[1]; ++oy) {
      for (std::int64_t ox = 0; ox < y[2]; ++ox) {
        for (std::int64_t ky = 0; ky < w[2]; ++ky) {
          for (std::int64_t kx = 0; kx < w[3]; ++kx) {
            const std::int64_t iy = oy * conv.stride[0] + ky * conv.dilation[0] - conv.padding[0].before;
            const std::int64_t ix = ox * conv.stride[1] + kx * conv.dilation[1] - conv.padding[1].before;
            if (iy < 0 || iy >= x[1] || ix < 0 || ix >= x[2]) continue;
            for (std::int64_t out = 0; out < w[0]; ++out) {
              for (std::int64_t in = 0; in < w[1]; ++in) {
                body(offset(x, n, iy, ix, in), offset(w, out, in, ky, kx), offset(y, n, oy, ox, out));
              }
            }
          }
        }
      }
    }
  }
}

// dy before the activation, which adds its output as third operand.
Tensor gradient_before(const Call& call, graph::Activation activation) {
  Tensor dy = call.inputs[0];
  if (activation == graph::Activation::kNone) return dy;
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] *= derivative_from_saved(activation, call.inputs[2][i]);
  return dy;
}

}  // namespace

void conv2d(const Call& call) {
  const auto attributes = graph::Conv2dAttributes::from(call.attributes);
  Tensor& y = call.outputs[0];
  if (call.inputs.size() > 2) {
    const Tensor& bias = call.inputs[2];
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = bias[i % bias.size()];
  }
  for_each_product(attributes, call.in_shape(0), call.in_shape(1), call.out_shape(0),
                   [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                     y[at_y] += call.inputs[0][at_x] * call.inputs[1][at_w];
                   });
  for (double& element : y) element = activate(attributes.activation, element);
}

void conv2d_grad_input(const Call& call) {
  const auto attributes = graph::Conv2dGradInputAttributes::from(call.attributes);
  const Tensor dy = gradient_before(call, attributes.conv.activation);
  for_each_product(attributes.conv, call.out_shape(0), call.in_shape(1), call.in_shape(0),
                   [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                     call.outputs[0][at_x] += dy[at_y] * call.inputs[1][at_w];
                   });
}

void conv2d_grad_weight(const Call& call) {
  const auto attributes = graph::Conv2dGradWeightAttributes::from(call.attributes);
  const Tensor dy = gradient_before(call, attributes.conv.activation);
  for_each_product(attributes.conv, call.in_shape(1), call.out_shape(0), call.in_shape(0),
                   [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                     call.outputs[0][at_w] += dy[at_y] * call.inputs[1][at_x];
                   });
  if (!attributes.bias) return;
  Tensor& dbias = call.outputs[1];
  for (std::size_t i = 0; i < dy.size(); ++i) dbias[i % dbias.size()] += dy[i];
}

}  // namespace headway::backend::reference
