// The ops that are priced by the bytes they move.
#include <algorithm>
#include <array>

#include "bench/probe_plan.h"
#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/avg_pool.h"
#include "graph/ops/batchnorm.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/dropout.h"
#include "graph/ops/embedding.h"
#include "graph/ops/grouped_linear.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/loss.h"
#include "graph/ops/moe.h"
#include "graph/ops/optimizer.h"
#include "graph/ops/pool.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reduce.h"
#include "graph/ops/rmsnorm.h"
#include "graph/ops/rotary.h"
#include "graph/ops/shape_ops.h"
#include "graph/ops/softmax.h"
#include "graph/ops/swiglu.h"

namespace headway::bench {
namespace {

using graph::Activation;
using graph::TensorType;

constexpr std::array<std::int64_t, 4> kElements = {1 << 13, 1 << 16, 1 << 19, 1 << 22};

TensorType f32(Shape shape) {
  return {DType::kF32, std::move(shape)};
}

}  // namespace

void ProbePlan::add_row_ops() {
  using namespace graph;
  for (const std::int64_t elements : kElements) {
    const std::int64_t n = 512, rows = std::max<std::int64_t>(1, scaled(elements) / n);
    const TensorType x = f32({rows, n}), row = f32({n}), statistic = f32({rows});
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGeluErf}) {
      add_op(layernorm_op(), LayerNormAttributes{1e-5, activation, false}.to_attributes(), {x, row, row});
      add_op(layernorm_grad_op(), LayerNormGradAttributes{activation, false}.to_attributes(),
             {x, x, statistic, statistic, row, row});
    }
    add_op(layernorm_op(), LayerNormAttributes{1e-5, Activation::kNone, true}.to_attributes(), {x, row, row, x});
    add_op(layernorm_grad_op(), LayerNormGradAttributes{Activation::kNone, true}.to_attributes(),
           {x, x, statistic, statistic, row, row, x});
    for (const bool residual : {false, true}) {
      std::vector<TensorType> forward = {x, row}, backward = {x, x, statistic, row};
      if (residual) {
        forward.push_back(x);
        backward.push_back(x);
      }
      add_op(rmsnorm_op(), RmsNormAttributes{1e-5, residual}.to_attributes(), std::move(forward));
      add_op(rmsnorm_grad_op(), RmsNormGradAttributes{residual}.to_attributes(), std::move(backward));
    }
    add_batchnorms(rows);
    add_op(softmax_op(), {}, {x});
    add_op(softmax_grad_op(), {}, {x, x});

    const std::int64_t classes = 256, samples = std::max<std::int64_t>(1, scaled(elements) / classes);
    const TensorType logits = f32({samples, classes}), labels{DType::kI32, {samples}}, loss = f32({});
    add_op(cross_entropy_op(), CrossEntropyAttributes{false}.to_attributes(), {logits, labels});
    add_op(cross_entropy_op(), CrossEntropyAttributes{true}.to_attributes(), {logits, labels, loss});
    add_op(cross_entropy_grad_op(), {}, {logits, labels, f32({samples}), loss});
    add_op(count_correct_op(), {}, {logits, labels});

    const TensorType ids{DType::kI32, {rows}};
    add_op(embedding_op(), {}, {f32({256, n}), ids});
    add_op(embedding_grad_op(), EmbeddingGradAttributes{256}.to_attributes(), {x, ids});
    add_op(position_embedding_op(), {}, {f32({rows, n}), f32({rows, n})});
    add_op(position_embedding_grad_op(), EmbeddingGradAttributes{rows}.to_attributes(), {x});
    const std::int64_t experts = 8, choices = 2, tokens = std::max<std::int64_t>(1, rows / choices);
    const TensorType each{DType::kI32, {tokens, choices}}, sources{DType::kI32, {tokens * choices}};
    const TensorType of_token = f32({tokens, n}), of_row = f32({tokens * choices, n}), weights = f32({tokens, choices});
    const TensorType probabilities = f32({tokens, experts});
    add_op(moe_route_op(), MoeRouteAttributes{choices, expert_capacity(tokens, experts, choices, 1.25)}.to_attributes(),
           {probabilities});
    add_op(moe_route_grad_op(), {}, {weights, loss, probabilities, each, each, f32({experts})});
    add_op(moe_dispatch_op(), {}, {of_token, each, sources});
    add_op(moe_combine_op(), {}, {of_row, each, sources, weights});
    add_op(moe_weight_grad_op(), {}, {of_token, of_row, each});
    for (const bool inverse : {false, true}) {
      add_op(rotary_op(), RotaryAttributes{6, 64, 10000, inverse}.to_attributes(), {f32({1, rows, n})});
    }
    add_op(sum_leading_op(), SumLeadingAttributes{1}.to_attributes(), {x});
    add_op(reduce_op(), ReduceAttributes{1, 1}.to_attributes(), {x});
    add_op(expand_op(), ExpandAttributes{{rows, n}}.to_attributes(), {f32({rows, 1})});
    for (const Activation activation : kActivations) {
      add_op(activation_op(), ActivationAttributes{activation}.to_attributes(), {x});
      add_op(activation_grad_op(), ActivationGradAttributes{activation, false}.to_attributes(), {x, x});
      add_op(activation_grad_op(), ActivationGradAttributes{activation, true}.to_attributes(), {x, x});
    }
  }
}

void ProbePlan::add_batchnorms(std::int64_t rows) {
  using namespace graph;
  const std::int64_t channels = 64;
  const TensorType x = f32({std::max<std::int64_t>(2, rows * 512 / channels), channels}), channel = f32({channels});
  const std::vector<TensorType> operands = {x, channel, channel, channel, channel};
  BatchNormAttributes norm;
  BatchNormGradAttributes gradient;
  for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
    norm.activation = gradient.activation = activation;
    add_op(batchnorm_op(), norm.to_attributes(), operands);
    add_op(batchnorm_grad_op(), gradient.to_attributes(), {x, x, channel, channel, channel, channel});
  }
  add_op(batchnorm_op(), BatchNormAttributes{1e-5, 0.1, Activation::kNone, true}.to_attributes(), operands);
}

void ProbePlan::add_flat_ops() {
  using namespace graph;
  const TensorType position{DType::kI64, {4}};
  for (const std::int64_t elements : kElements) {
    const TensorType x = f32({scaled(elements)});
    add_op(cast_op(), CastAttributes{DType::kBF16}.to_attributes(), {x});
    add_op(swiglu_op(), {}, {x, x});
    add_op(swiglu_grad_op(), {}, {x, x, x});
    add_op(graph::add_op(), {}, {x, x});
    add_op(sub_op(), {}, {x, x});
    add_op(mul_op(), {}, {x, x});
    add_op(div_op(), {}, {x, x});
    add_op(scale_op(), ScaleAttributes{0.5}.to_attributes(), {x});
    add_op(accumulate_op(), {}, {x, x, position});
    add_op(dropout_op(), DropoutAttributes{0.1, 0}.to_attributes(), {x, position});
    add_op(mse_op(), {}, {x, x});
    add_op(mse_grad_op(), {}, {x, x, f32({})});
    add_op(bce_with_logits_op(), {}, {x, x});
    add_op(bce_with_logits_grad_op(), {}, {x, x, f32({})});

    const std::int64_t channels = 64, size = 8, batch = std::max<std::int64_t>(1, scaled(elements) / 4096);
    const TensorType image = f32({batch, size, size, channels}), pooled = f32({batch, size / 2, size / 2, channels});
    add_op(transpose_op(), TransposeAttributes{{0, 3, 1, 2}}.to_attributes(), {image});
    add_op(concat_op(), ConcatAttributes{3}.to_attributes(), {image, image});
    add_op(slice_op(), SliceAttributes{1, 1, 4}.to_attributes(), {image});
    add_op(slice_grad_op(), SliceGradAttributes{{1, 1, 4}, image.shape.dims()}.to_attributes(),
           {f32({batch, 4, size, channels})});
    add_op(max_pool2d_op(), Pool2dAttributes{}.to_attributes(), {image});
    add_op(max_pool2d_grad_op(), Pool2dGradAttributes{{}, image.shape.dims()}.to_attributes(),
           {pooled, {DType::kU8, pooled.shape}});
    add_op(avg_pool2d_op(), Pool2dAttributes{}.to_attributes(), {image});
    add_op(avg_pool2d_grad_op(), Pool2dGradAttributes{{}, image.shape.dims()}.to_attributes(), {pooled});
  }
}

void ProbePlan::add_updates() {
  using namespace graph;
  // Four parameters at once, as the fused update of a small model sees them.
  const std::vector<std::int64_t> decays = {1, 1, 1, 1};
  for (const std::int64_t elements : kElements) {
    const TensorType each = f32({std::max<std::int64_t>(1, scaled(elements) / 4)}), hyper = f32({4});
    std::vector<TensorType> adamw = {hyper}, sgd = {hyper};
    for (std::size_t parameter = 0; parameter < decays.size(); ++parameter) {
      adamw.insert(adamw.end(), {each, each, each, each});
      sgd.insert(sgd.end(), {each, each, each});
    }
    add_op(grad_norm_op(), GradNormAttributes{}.to_attributes(), {each, each, each, each});
    AdamWAttributes attributes;
    attributes.weight_decay = 0.1;
    attributes.decay_mask = decays;
    add_op(adamw_op(), attributes.to_attributes(), std::move(adamw));
    SgdAttributes momentum;
    momentum.momentum = 0.9;
    momentum.decay_mask = decays;
    add_op(sgd_op(), momentum.to_attributes(), std::move(sgd));
  }
}

}  // namespace headway::bench
