#include "sim/cost_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "graph/cost_key.h"
#include "graph/ops/attention.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/grouped_linear.h"
#include "graph/ops/linear.h"
#include "graph/ops/recurrent.h"

namespace headway::sim {

using graph::Graph;
using graph::Node;

namespace {

// Under this many launch overheads a task is said to be bound by latency.
constexpr double kLatencyShare = 2;
// A task that takes this much longer than its bytes computes, whatever its flops say (exp, erf, sqrt count none).
constexpr double kComputeShare = 2;

double real(std::int64_t number) {
  return static_cast<double>(std::max<std::int64_t>(number, 1));
}

const cluster::DeviceKind& device_of(const cluster::Cluster& cluster, const std::string& kind) {
  std::vector<std::string> names;
  for (const cluster::DeviceKind& device : cluster.devices) {
    if (device.name == kind) return device;
    names.push_back(device.name);
  }
  throw UserError(
      fmt::format("the cluster '{}' has no device of kind '{}'{}", cluster.name, kind, suggestion(kind, names)));
}

template <class Point, class Convert>
std::map<std::string, Curve> curves_of(const std::map<std::string, std::vector<Point>>& all, Convert convert) {
  std::map<std::string, Curve> curves;
  for (const auto& [key, points] : all) {
    std::vector<std::pair<std::vector<double>, double>> converted;
    for (const Point& point : points) converted.push_back(convert(point));
    curves.emplace(key, Curve(converted));
  }
  return curves;
}

Curve bandwidth_of(const cluster::DeviceKind& device) {
  HEADWAY_CHECK(!device.bandwidth.empty(), "a device without a bandwidth");
  std::vector<std::pair<std::vector<double>, double>> points;
  for (const cluster::BandwidthPoint& point : device.bandwidth) {
    points.push_back({{real(point.working_set.value)}, point.rate.value});
  }
  return Curve(points);
}

// A curve by key, or by the key without its last words: "f32.linear.relu" -> "f32.linear".
const Curve* find(const std::map<std::string, Curve>& curves, std::string key) {
  while (true) {
    const auto found = curves.find(key);
    if (found != curves.end()) return &found->second;
    const std::size_t dot = key.rfind('.');
    if (dot == std::string::npos) return nullptr;
    key.resize(dot);
  }
}

// Whether linear's attributes and epilogue are there.
bool is_linear(const graph::Op* op) {
  return op == &graph::linear_op() || op == &graph::grouped_linear_op();
}

// "" for what is no product.
std::string layout_of(const Node& node) {
  if (is_linear(node.op)) return "nt";
  if (node.op == &graph::grouped_linear_grad_input_op()) return "nn";
  if (node.op == &graph::grouped_linear_grad_weight_op()) return "tn";
  if (node.op != &graph::matmul_op()) return "";
  const graph::MatmulAttributes attributes = graph::MatmulAttributes::from(node.attributes);
  return std::string(attributes.transpose_a ? "t" : "n") + (attributes.transpose_b ? "t" : "n");
}

}  // namespace

std::string_view name_of(Bound bound) {
  static constexpr std::array<std::string_view, 3> kNames = {"compute", "memory", "latency"};
  return kNames[static_cast<std::size_t>(bound)];
}

// What a node has to do, worked out once.
struct CostModel::Work {
  graph::OpCost cost;
  DType dtype = DType::kF32;
  Bytes bytes;
  std::string prefix;  // "f32."
};

CostModel::CostModel(const cluster::Cluster& cluster, const std::string& device_kind)
    : device_(device_of(cluster, device_kind)),
      gemm_(curves_of(device_.gemm,
                      [](const cluster::GemmPoint& point) {
                        return std::pair(std::vector{real(point.m), real(point.n), real(point.k)}, point.rate.value);
                      })),
      conv_(curves_of(device_.conv,
                      [](const cluster::ConvPoint& point) {
                        return std::pair(std::vector{real(point.kernel * point.kernel), real(point.in), real(point.out),
                                                     real(point.batch * point.height * point.width)},
                                         point.rate.value);
                      })),
      attention_(curves_of(device_.attention,
                           [](const cluster::AttentionPoint& point) {
                             return std::pair(
                                 std::vector{real(point.head_size), real(point.sequence), real(point.groups)},
                                 point.rate.value);
                           })),
      recurrent_(curves_of(device_.recurrent,
                           [](const cluster::RecurrentPoint& point) {
                             return std::pair(std::vector{real(point.features), real(point.hidden), real(point.batch)},
                                              point.rate.value);
                           })),
      ops_(curves_of(device_.ops,
                     [](const cluster::OpPoint& point) {
                       return std::pair(std::vector{real(point.bytes.value)}, point.time.value);
                     })),
      bandwidth_(bandwidth_of(device_)) {}

FlopsPerSecond CostModel::peak(DType dtype) const {
  const auto found = device_.peak.find(dtype);
  return found != device_.peak.end() ? found->second : device_.peak.at(DType::kF32);
}

BytesPerSecond CostModel::bandwidth(Bytes working_set) const {
  return BytesPerSecond(bandwidth_.at(std::array{real(working_set.value)}));
}

Seconds CostModel::roofline(const Work& work) const {
  return std::max(work.cost.flops / peak(work.dtype), work.bytes / bandwidth(work.bytes));
}

std::optional<Seconds> CostModel::product_time(const Graph& graph, const Node& node, const Work& work) const {
  const auto curve = gemm_.find(work.prefix + layout_of(node));
  if (curve == gemm_.end()) return std::nullopt;
  Seconds time;
  for (const graph::OpCost::Product& product : work.cost.products) {
    // The products of a batch are spread over the threads together, as one with as many rows.
    const double rate = curve->second.at(std::array{real(product.m * product.count), real(product.n), real(product.k)});
    const double flops = 2 * real(product.m) * real(product.n) * real(product.k) * real(product.count);
    time += Flops(flops) / FlopsPerSecond(std::min(rate, peak(work.dtype).value));
  }
  return time + epilogue_time(graph, node);
}

// Of the result, which is f32 for operands of every type.
Seconds CostModel::epilogue_time(const Graph& graph, const Node& node) const {
  if (!is_linear(node.op)) return Seconds(0);
  const graph::LinearAttributes attributes = graph::LinearAttributes::from(node.attributes);
  if (attributes.activation == graph::Activation::kNone) return Seconds(0);
  Bytes written;
  for (const graph::TensorType& type : graph.output_types(node)) written += type.bytes();
  const std::string key = graph::cost_key(node).substr(node.op->name().size());  // ".gelu_tanh.keep_pre"
  if (const std::optional<Seconds> measured = op_time("f32.epilogue" + key, written)) return *measured;
  // Not measured: the activation by itself, less a copy of its operands, which stay in registers here.
  const Bytes operands = graph.output_types(node)[0].bytes() * 2;
  const std::optional<Seconds> alone =
      op_time("f32.activation." + std::string(graph::name_of(attributes.activation)), operands);
  const Seconds compute = alone.value_or(Seconds(0)) - operands / bandwidth(operands);
  const Seconds extra = attributes.keep_pre ? graph.output_types(node)[1].bytes() / bandwidth(operands) : Seconds(0);
  return std::max(Seconds(0), compute) + extra;
}

std::optional<Seconds> CostModel::conv_time(const Graph& graph, const Node& node, const Work& work) const {
  const auto curve = conv_.find(work.prefix + std::string(node.op->name()));
  if (curve == conv_.end() || work.cost.products.empty()) return std::nullopt;
  const bool by_weight = node.op == &graph::conv2d_grad_weight_op();
  const Shape weight = by_weight ? graph.output_types(node)[0].shape : graph.input_types(node)[1].shape;
  const double rate = curve->second.at(
      std::array{real(weight[2] * weight[3]), real(weight[1]), real(weight[0]), real(work.cost.products[0].m)});
  return work.cost.flops / FlopsPerSecond(std::min(rate, peak(work.dtype).value));
}

std::optional<Seconds> CostModel::attention_time(const Graph& graph, const Node& node, const Work& work) const {
  const bool backward = node.op == &graph::attention_grad_op();
  if (!backward && node.op != &graph::attention_op()) return std::nullopt;
  const Curve* curve = find(attention_, work.prefix + graph::cost_key(node));
  if (curve == nullptr) return std::nullopt;
  const Shape qkv = graph.input_types(node)[backward ? 1 : 0].shape;
  const auto attributes = graph::AttentionAttributes::from(node.attributes);
  const double rate =
      curve->at(std::array{real(qkv[2] / attributes.all_heads()), real(qkv[1]), real(qkv[0] * attributes.heads)});
  return work.cost.flops / FlopsPerSecond(std::min(rate, peak(work.dtype).value));
}

std::optional<Seconds> CostModel::recurrent_time(const Graph& graph, const Node& node, const Work& work) const {
  const bool backward = node.op == &graph::recurrent_grad_op();
  if (!backward && node.op != &graph::recurrent_op()) return std::nullopt;
  const Curve* curve = find(recurrent_, work.prefix + graph::cost_key(node));
  if (curve == nullptr) return std::nullopt;
  const std::vector<graph::TensorType> types = graph.input_types(node);
  const std::size_t x = backward ? 1 : 0;
  const graph::RecurrentSizes sizes = graph::recurrent_sizes(types[x].shape, types[x + 2].shape);
  const double rate = curve->at(std::array{real(sizes.features), real(sizes.hidden), real(sizes.batch)});
  return work.cost.flops / FlopsPerSecond(std::min(rate, peak(work.dtype).value));
}

std::optional<Seconds> CostModel::op_time(const std::string& key, Bytes bytes) const {
  const Curve* curve = find(ops_, key);
  if (curve == nullptr) return std::nullopt;
  const double size = real(bytes.value), least = curve->first(0), most = curve->last(0);
  const double time = curve->at(std::array{size});
  // Beyond the last point at the last point's bytes per second; below the first the part over a launch shrinks.
  if (size > most) return Seconds(time * size / most);
  if (size < least) {
    const double launch = std::min(device_.launch_overhead.value, time);
    return Seconds(launch + (time - launch) * size / least);
  }
  return Seconds(time);
}

Price CostModel::price(const Graph& graph, const Node& node) const {
  if (node.op->is_view()) return {Seconds(0), Bound::kLatency};
  Work work;
  work.cost = graph.cost(node);
  work.bytes = work.cost.read + work.cost.written;
  for (const graph::TensorType& type : graph.input_types(node)) {
    if (type.dtype == DType::kI32 || type.dtype == DType::kI64 || type.dtype == DType::kU8) continue;
    work.dtype = type.dtype;
    break;
  }
  work.prefix = std::string(name_of(work.dtype)) + ".";

  const Seconds launch = device_.launch_overhead, least = roofline(work);
  std::optional<Seconds> time = product_time(graph, node, work);
  if (!time) time = conv_time(graph, node, work);
  if (!time) time = attention_time(graph, node, work);
  if (!time) time = recurrent_time(graph, node, work);
  // No product runs faster than its bytes: rates are clamped outside the measured sizes.
  if (time) time = std::max(*time, least);
  if (!time) time = op_time(work.prefix + graph::cost_key(node), work.bytes);
  if (!time) time = launch + least;
  time = std::max(*time, launch);

  const Seconds memory = work.bytes / bandwidth(work.bytes), compute = work.cost.flops / peak(work.dtype);
  Bound bound = compute > memory || *time > (launch + memory) * kComputeShare ? Bound::kCompute : Bound::kMemory;
  if (*time <= launch * kLatencyShare) bound = Bound::kLatency;
  return {*time, bound};
}

}  // namespace headway::sim
