#include "bench/probe_plan.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cpu/bf16_rate.h"
#include "base/error.h"
#include "graph/cost_key.h"
#include "graph/ops/activation.h"
#include "graph/ops/attention.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/linear.h"
#include "graph/ops/recurrent.h"

namespace headway::bench {
namespace {

using cluster::DeviceKind;
using graph::Attributes;
using graph::Op;
using graph::TensorType;

TensorType f32(Shape shape) {
  return {DType::kF32, std::move(shape)};
}

double product_flops(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

}  // namespace

ProbePlan::ProbePlan(backend::Device& device, double scale) : device_(device), scale_(scale) {}

std::int64_t ProbePlan::scaled(std::int64_t size) const {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(size) * scale_));
}

ProbePoint& ProbePlan::add(const Op& op, const Attributes& attributes, std::vector<TensorType> inputs) {
  ProbePoint& point = points_.emplace_back();
  point.outputs = op.infer(attributes, inputs);
  point.kernel = device_.prepare({op, attributes, inputs, point.outputs});
  point.aliases = op.aliases(attributes, static_cast<std::int64_t>(inputs.size()));
  point.name = fmt::format("{} {}", graph::cost_key(op, attributes), graph::to_string(inputs[0]));
  point.inputs = std::move(inputs);
  return point;
}

ProbePoint& ProbePlan::add_hot(std::string name, std::unique_ptr<backend::Kernel> kernel,
                               std::vector<TensorType> inputs, std::vector<TensorType> outputs) {
  ProbePoint& point = points_.emplace_back();
  point.name = std::move(name);
  point.kernel = std::move(kernel);
  point.inputs = std::move(inputs);
  point.outputs = std::move(outputs);
  point.hot = true;
  return point;
}

void ProbePlan::add_op(const Op& op, const Attributes& attributes, std::vector<TensorType> inputs) {
  ProbePoint& point = add(op, attributes, std::move(inputs));
  const graph::OpCost cost = op.cost(attributes, point.inputs, point.outputs);
  const std::string key = "f32." + graph::cost_key(op, attributes);
  const Bytes bytes = cost.read + cost.written;
  point.store = [key, bytes](DeviceKind& device, Seconds time) { device.ops[key].push_back({bytes, time}); };
}

namespace {

constexpr std::array<std::int64_t, 4> kRows = {64, 256, 1024, 4096};
constexpr std::array<std::int64_t, 3> kWide = {128, 512, 1536};
constexpr std::array<std::int64_t, 5> kNarrow = {1, 16, 128, 512, 1536};

}  // namespace

void ProbePlan::add_gemm(DType dtype, const char* layout, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::string kind = layout;
  const auto of = [dtype](Shape shape) { return TensorType{dtype, std::move(shape)}; };
  ProbePoint& point =
      kind == "nt"
          ? add(graph::linear_op(), graph::LinearAttributes{}.to_attributes(), {of({m, k}), of({n, k}), f32({n})})
      : kind == "nn" ? add(graph::matmul_op(), graph::MatmulAttributes{false, false, true}.to_attributes(),
                           {of({m, k}), of({k, n})})
                     : add(graph::matmul_op(), graph::MatmulAttributes{true, false, true}.to_attributes(),
                           {of({k, m}), of({k, n})});
  const std::string key = std::string(name_of(dtype)) + "." + kind;
  point.name = fmt::format("{} {} x {} x {}", key, m, n, k);
  point.store = [=](DeviceKind& device, Seconds time) {
    device.gemm[key].push_back({m, n, k, FlopsPerSecond(product_flops(m, n, k) / time.value)});
  };
}

void ProbePlan::add_products() {
  for (const std::int64_t rows : kRows) {
    for (const std::int64_t narrow : kNarrow) {
      for (const std::int64_t wide : kWide) {
        for (const DType dtype : {DType::kF32, DType::kBF16}) {
          if (dtype == DType::kBF16 && narrow < 16) continue;  // mixed precision leaves such products in f32
          add_gemm(dtype, "nt", scaled(rows), narrow, wide);
          add_gemm(dtype, "nn", scaled(rows), wide, narrow);
          add_gemm(dtype, "tn", narrow, wide, scaled(rows));
        }
      }
    }
  }
}

void ProbePlan::add_epilogues() {
  for (const graph::Activation activation : graph::kActivations) {
    for (const bool keep_pre : {false, true}) {
      if (keep_pre == graph::gradient_uses_output(activation)) continue;  // the fusion pass makes no such node
      for (const std::int64_t base_rows : {128, 1024}) {
        const std::int64_t m = scaled(base_rows), n = 512, k = 128;
        const std::vector<TensorType> inputs = {f32({m, k}), f32({n, k}), f32({n})};
        add(graph::linear_op(), graph::LinearAttributes{}.to_attributes(), inputs);
        const Attributes attributes = graph::LinearAttributes{activation, keep_pre}.to_attributes();
        ProbePoint& point = add(graph::linear_op(), attributes, inputs);
        point.less = 1;
        Bytes written;
        for (const TensorType& type : point.outputs) written += type.bytes();
        const std::string key = "f32.epilogue" + graph::cost_key(graph::linear_op(), attributes).substr(6);
        point.store = [=](DeviceKind& device, Seconds time) { device.ops[key].push_back({written, time}); };
      }
    }
  }
}

void ProbePlan::add_conv(std::int64_t batch, std::int64_t size, std::int64_t in, std::int64_t out,
                         std::int64_t kernel) {
  const TensorType x = f32({batch, size, size, in}), y = f32({batch, size, size, out});
  const TensorType w = f32({out, in, kernel, kernel});
  graph::Conv2dAttributes conv;
  conv.padding = {kernel / 2, kernel / 2};
  const double flops = product_flops(batch * size * size, out, in * kernel * kernel);
  const auto keep = [=](ProbePoint& point, const char* name) {
    const std::string key = std::string("f32.") + name;
    point.name = fmt::format("{} {} x {} x {} x {} to {}, {}", key, batch, size, size, in, out, kernel);
    point.store = [=](DeviceKind& device, Seconds time) {
      device.conv[key].push_back({batch, size, size, in, out, kernel, FlopsPerSecond(flops / time.value)});
    };
  };
  const Attributes grad_input = graph::Conv2dGradInputAttributes{conv, x.shape.dims()}.to_attributes();
  const Attributes grad_weight = graph::Conv2dGradWeightAttributes{conv, {kernel, kernel}, true}.to_attributes();
  keep(add(graph::conv2d_grad_input_op(), grad_input, {y, w}), "conv2d_grad_input");
  keep(add(graph::conv2d_grad_weight_op(), grad_weight, {y, x}), "conv2d_grad_weight");
  conv.activation = graph::Activation::kRelu;
  keep(add(graph::conv2d_op(), conv.to_attributes(), {x, w, f32({out})}), "conv2d");
}

void ProbePlan::add_convolutions() {
  for (const std::int64_t base_batch : {16, 128}) {
    const std::int64_t batch = scaled(base_batch);
    add_conv(batch, 28, 1, 32, 3);
    add_conv(batch, 28, 32, 32, 1);
    add_conv(batch, 28, 32, 32, 3);
    add_conv(batch, 28, 32, 64, 3);
    add_conv(batch, 14, 64, 64, 3);
    add_conv(batch, 7, 64, 64, 3);
    add_conv(batch, 14, 32, 32, 1);
    add_conv(batch, 14, 64, 64, 1);
  }
}

void ProbePlan::add_attention(std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t head_size,
                              bool causal) {
  const Attributes attributes = graph::AttentionAttributes{heads, causal}.to_attributes();
  const TensorType qkv = f32({batch, sequence, 3 * heads * head_size});
  const std::vector<TensorType> forward = graph::attention_op().infer(attributes, std::array{qkv});
  const auto keep = [=](ProbePoint& point, const Op& op) {
    const std::string key = "f32." + graph::cost_key(op, attributes);
    const Flops flops = op.cost(attributes, point.inputs, point.outputs).flops;
    point.store = [=](DeviceKind& device, Seconds time) {
      device.attention[key].push_back({batch * heads, sequence, head_size, FlopsPerSecond(flops.value / time.value)});
    };
  };
  keep(add(graph::attention_op(), attributes, {qkv}), graph::attention_op());
  keep(add(graph::attention_grad_op(), attributes, {forward[0], qkv, forward[0], forward[1]}),
       graph::attention_grad_op());
}

void ProbePlan::add_attentions() {
  for (const bool causal : {true, false}) {
    for (const std::int64_t head_size : {32, 64}) {
      for (const std::int64_t sequence : {64, 256, 1024}) {
        // Few groups and many, the work of long sequences bounded.
        add_attention(1, 4, scaled(sequence), head_size, causal);
        if (sequence <= 256)
          add_attention(std::max<std::int64_t>(1, scaled(8)), 6, scaled(sequence), head_size, causal);
      }
    }
  }
}

void ProbePlan::add_recurrence(graph::Cell cell, std::int64_t batch, std::int64_t features, std::int64_t hidden) {
  constexpr std::int64_t kSteps = 32;
  const std::int64_t rows = graph::gates_of(cell) * hidden;
  const Attributes forward = graph::RecurrentAttributes{cell, false}.to_attributes();
  const std::vector<TensorType> inputs = {f32({batch, kSteps, features}), f32({rows, features}), f32({rows, hidden}),
                                          f32({rows}), f32({rows})};
  const std::vector<TensorType> saved = graph::recurrent_op().infer(forward, inputs);
  std::vector<TensorType> backward = {saved[0], inputs[0], inputs[1], inputs[2]};
  backward.insert(backward.end(), saved.begin() + 1, saved.end());
  const auto keep = [=](ProbePoint& point, const Op& op, const Attributes& attributes) {
    const std::string key = "f32." + graph::cost_key(op, attributes);
    const Flops flops = op.cost(attributes, point.inputs, point.outputs).flops;
    point.name = fmt::format("{} {} x {} to {}", key, batch, features, hidden);
    point.store = [=](DeviceKind& device, Seconds time) {
      device.recurrent[key].push_back({batch, features, hidden, FlopsPerSecond(flops.value / time.value)});
    };
  };
  keep(add(graph::recurrent_op(), forward, inputs), graph::recurrent_op(), forward);
  for (const bool input_gradient : {false, true}) {
    const Attributes attributes = graph::RecurrentGradAttributes{cell, false, input_gradient}.to_attributes();
    keep(add(graph::recurrent_grad_op(), attributes, backward), graph::recurrent_grad_op(), attributes);
  }
}

void ProbePlan::add_recurrences() {
  for (const std::int64_t batch : {32, 64, 512}) {
    for (const std::int64_t features : {16, 64, 192}) {
      add_recurrence(graph::Cell::kLstm, scaled(batch), features, 64);
    }
    add_recurrence(graph::Cell::kLstm, scaled(batch), 128, 128);
    add_recurrence(graph::Cell::kGru, scaled(batch), 64, 64);
  }
}

void ProbePlan::add_between() {
  add(graph::linear_op(), graph::LinearAttributes{graph::Activation::kGeluTanh, true}.to_attributes(),
      {f32({64, 128}), f32({128, 128}), f32({128})});
}

void ProbePlan::add_machine() {
  const int threads = device_.threads();
  ProbePoint& launch = add_hot("launch", backend::make_empty_kernel(threads), {}, {});
  launch.store = [](DeviceKind& device, Seconds time) { device.launch_overhead = time; };

  for (std::int64_t set = 16 << 10; set <= 256 << 20; set *= 4) {
    const Bytes half(std::max<std::int64_t>(64 * threads, scaled(set) / 2 / 64 * 64));
    const std::int64_t passes = std::max<std::int64_t>(1, (2 << 20) / half.value);
    ProbePoint& point =
        add_hot(fmt::format("copy of {} bytes", half.value), backend::make_copy_kernel(threads, half, passes),
                {f32({half.value / 4})}, {f32({half.value / 4})});
    point.store = [half, passes](DeviceKind& device, Seconds time) {
      const double bytes = 2.0 * static_cast<double>(half.value) * static_cast<double>(passes);
      device.bandwidth.push_back({Bytes(2 * half.value), BytesPerSecond(bytes / time.value)});
    };
  }
}

void ProbePlan::add_dtype(DType dtype) {
  const std::string prefix = std::string(name_of(dtype)) + ".";
  const std::array<std::array<std::int64_t, 3>, 3> shapes = {
      {{scaled(1024), 512, 512}, {scaled(4096), 512, 512}, {scaled(2048), 1536, 1536}}};
  for (const auto& [m, n, k] : shapes) {
    std::unique_ptr<backend::Kernel> kernel =
        backend::make_product_kernel(dtype, m, n, k, std::min<std::int64_t>(m, 8));
    if (!kernel) return;
    ProbePoint& point = add_hot(fmt::format("{}nt {} x {} x {}", prefix, m, n, k), std::move(kernel),
                                {{dtype, {m, k}}, {dtype, {n, k}}}, {{dtype, {m, n}}});
    point.store = [=, m = m, n = n, k = k](DeviceKind& device, Seconds time) {
      const FlopsPerSecond rate(product_flops(m, n, k) / time.value);
      device.peak[dtype] = std::max(device.peak[dtype], rate);
    };
  }
  const std::int64_t batch = scaled(32), size = 14, in = 64, out = 64;
  std::unique_ptr<backend::Kernel> kernel = backend::make_conv_kernel(dtype, batch, size, in, out);
  if (!kernel || dtype == DType::kF32) return;
  ProbePoint& point =
      add_hot(prefix + "conv2d", std::move(kernel), {{dtype, {batch, size, size, in}}, {dtype, {out, in, 3, 3}}},
              {{dtype, {batch, size, size, out}}});
  point.store = [=](DeviceKind& device, Seconds time) {
    const double flops = product_flops(batch * size * size, out, in * 9);
    device.conv[prefix + "conv2d"].push_back({batch, size, size, in, out, 3, FlopsPerSecond(flops / time.value)});
  };
}

ProbePoint plan_between(backend::Device& device) {
  ProbePlan plan(device, 1);
  plan.add_between();
  return std::move(plan.take().front());
}

std::vector<ProbePoint> plan_probe(backend::Device& device, double scale) {
  if (device.kind() != "cpu")
    throw UserError(fmt::format("probe: {} cannot be measured yet; known: cpu", device.kind()));
  ProbePlan plan(device, scale);
  plan.add_machine();
  plan.add_dtype(DType::kF32);
  plan.add_dtype(DType::kBF16);
  plan.add_products();
  plan.add_epilogues();
  plan.add_convolutions();
  plan.add_attentions();
  plan.add_recurrences();
  plan.add_row_ops();
  plan.add_flat_ops();
  plan.add_updates();
  return plan.take();
}

}  // namespace headway::bench
