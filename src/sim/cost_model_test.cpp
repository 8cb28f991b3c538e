#include "sim/cost_model.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "graph/cost_key.h"
#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/attention.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/recurrent.h"
#include "sim/test_cluster.h"

namespace headway::sim {
namespace {

using graph::Graph;
using graph::ValueId;
using testing::plain_cluster;

constexpr double kExact = 1e-12;

// The price of the last node of a graph.
Price price_of(const cluster::Cluster& cluster, const Graph& graph) {
  return CostModel(cluster, "cpu").price(graph, graph.nodes().back());
}

Graph linear_graph(std::int64_t m, std::int64_t n, std::int64_t k, graph::LinearAttributes attributes = {}) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {m, k}});
  const ValueId w = graph.add_input("w", {DType::kF32, {n, k}});
  graph.add(graph::linear_op(), attributes.to_attributes(), {x, w});
  return graph;
}

Graph add_graph(std::int64_t elements) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {elements}});
  graph::add(graph, x, x);
  return graph;
}

TEST(CostModel, UnknownDevicesAreNamed) {
  EXPECT_THROW(CostModel(plain_cluster(), "cuda"), UserError);
}

// Without curves: launch + max(flops / peak, bytes / bandwidth).
TEST(CostModel, RooflineWithoutCurves) {
  // 2 * 1024^3 flops at 1e12; 12 MiB at 1e10 take less: 2.147 ms against 1.258 ms.
  Price price = price_of(plain_cluster(), linear_graph(1024, 1024, 1024));
  EXPECT_NEAR(price.time.value, 1e-6 + 2.0 * 1024 * 1024 * 1024 / 1e12, kExact);
  EXPECT_EQ(price.bound, Bound::kCompute);
  // add reads two operands (counted each) and writes one: 3 * 4e6 bytes.
  price = price_of(plain_cluster(), add_graph(1'000'000));
  EXPECT_NEAR(price.time.value, 1e-6 + 12e6 / 1e10, kExact);
  EXPECT_EQ(price.bound, Bound::kMemory);
  price = price_of(plain_cluster(), add_graph(10));
  EXPECT_NEAR(price.time.value, 1e-6 + 120 / 1e10, kExact);
  EXPECT_EQ(price.bound, Bound::kLatency);
}

cluster::Cluster with_gemm() {
  cluster::Cluster cluster = plain_cluster();
  // rate = 1e9 * sqrt(k), whatever m and n: a power law, so exact between the points.
  for (const std::int64_t m : {64, 4096}) {
    for (const std::int64_t n : {64, 4096}) {
      for (const std::int64_t k : {64, 4096}) {
        cluster.devices[0].gemm["f32.nt"].push_back({m, n, k, FlopsPerSecond(1e9 * std::sqrt(static_cast<double>(k)))});
      }
    }
  }
  return cluster;
}

TEST(CostModel, ProductsFollowTheirCurve) {
  for (const auto& [m, n, k] : {std::array{64, 64, 64}, std::array{4096, 64, 4096}, std::array{500, 700, 1024}}) {
    const double flops = 2.0 * m * n * k, rate = 1e9 * std::sqrt(static_cast<double>(k));
    EXPECT_NEAR(price_of(with_gemm(), linear_graph(m, n, k)).time.value / (flops / rate), 1, 1e-9) << m << n << k;
  }
}

TEST(CostModel, TheLayoutChoosesTheCurve) {
  cluster::Cluster cluster = with_gemm();
  cluster.devices[0].gemm["f32.tn"] = {{64, 64, 64, FlopsPerSecond(2e9)}};
  Graph graph;
  const ValueId dy = graph.add_input("dy", {DType::kF32, {512, 64}}),
                x = graph.add_input("x", {DType::kF32, {512, 32}});
  graph::matmul(graph, dy, x, {true, false, true});
  EXPECT_NEAR(price_of(cluster, graph).time.value, 2.0 * 64 * 32 * 512 / 2e9, kExact);
}

TEST(CostModel, NoProductIsFasterThanThePeakOrThanItsBytes) {
  cluster::Cluster cluster = plain_cluster();
  cluster.devices[0].gemm["f32.nt"] = {{64, 64, 64, FlopsPerSecond(1e15)}};
  EXPECT_NEAR(price_of(cluster, linear_graph(2048, 2048, 2048)).time.value, 2.0 * std::pow(2048, 3) / 1e12, kExact);
  // One column: 4 * (4096 * 512 + 512 + 4096) bytes at 1e10 are the floor.
  EXPECT_NEAR(price_of(cluster, linear_graph(4096, 1, 512)).time.value, 4.0 * (4096 * 512 + 512 + 4096) / 1e10, kExact);
}

TEST(CostModel, EpiloguesAdd) {
  cluster::Cluster cluster = with_gemm();
  const double plain = price_of(cluster, linear_graph(512, 512, 512)).time.value;
  const graph::LinearAttributes gelu{graph::Activation::kGeluTanh, true};
  // Without any measurement only the second output counts: 1 MiB at 1e10.
  EXPECT_NEAR(price_of(cluster, linear_graph(512, 512, 512, gelu)).time.value, plain + (1 << 20) / 1e10, kExact);
  // Both outputs are 2 MiB; measured at 1 MiB, and bytes per second hold beyond.
  cluster.devices[0].ops["f32.epilogue.gelu_tanh.keep_pre"] = {{Bytes(1 << 20), Seconds(1e-4)}};
  EXPECT_NEAR(price_of(cluster, linear_graph(512, 512, 512, gelu)).time.value, plain + 2e-4, kExact);
}

TEST(CostModel, OpsFollowTheirCurve) {
  cluster::Cluster cluster = plain_cluster();
  cluster.devices[0].ops["f32.add"] = {{Bytes(12000), Seconds(5e-6)}, {Bytes(1200000), Seconds(5e-4)}};
  EXPECT_NEAR(price_of(cluster, add_graph(1000)).time.value, 5e-6, kExact);
  EXPECT_NEAR(price_of(cluster, add_graph(10000)).time.value, 5e-5, kExact);       // between, on logarithms
  EXPECT_NEAR(price_of(cluster, add_graph(1000000)).time.value, 5e-3, kExact);     // beyond: the last point's rate
  EXPECT_NEAR(price_of(cluster, add_graph(250)).time.value, 1e-6 + 1e-6, kExact);  // below: launch + share of the rest
}

TEST(CostModel, ShorterKeysStandIn) {
  cluster::Cluster cluster = plain_cluster();
  cluster.devices[0].ops["f32.layernorm"] = {{Bytes(1), Seconds(1e-3)}};
  cluster.devices[0].ops["f32.layernorm.gelu_erf"] = {{Bytes(1), Seconds(2e-3)}};
  const auto norm = [](graph::Activation activation) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {8, 16}}), row = graph.add_input("row", {DType::kF32, {16}});
    graph.add(graph::layernorm_op(), graph::LayerNormAttributes{1e-5, activation, false}.to_attributes(),
              {x, row, row});
    return graph;
  };
  const Graph plain = norm(graph::Activation::kNone), gelu = norm(graph::Activation::kGeluErf);
  EXPECT_NEAR(price_of(cluster, gelu).time.value / price_of(cluster, plain).time.value, 2, 1e-9);
  EXPECT_EQ(price_of(cluster, norm(graph::Activation::kRelu)).time.value, price_of(cluster, plain).time.value);
}

TEST(CostModel, ConvolutionsFollowTheirCurve) {
  cluster::Cluster cluster = plain_cluster();
  cluster.devices[0].conv["f32.conv2d"] = {{8, 14, 14, 32, 64, 3, FlopsPerSecond(3e10)}};
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {8, 14, 14, 32}});
  const ValueId w = graph.add_input("w", {DType::kF32, {64, 32, 3, 3}}), b = graph.add_input("b", {DType::kF32, {64}});
  graph::Conv2dAttributes same;
  same.padding = {1, 1};
  graph::conv2d(graph, x, w, b, same);
  EXPECT_NEAR(price_of(cluster, graph).time.value, 2.0 * 8 * 14 * 14 * 64 * 32 * 9 / 3e10, kExact);
}

TEST(CostModel, AttentionFollowsItsCurve) {
  cluster::Cluster cluster = plain_cluster();
  // rate = 1e10 * sequence / 64 at any head size and number of groups.
  cluster.devices[0].attention["f32.attention.causal"] = {{48, 64, 64, FlopsPerSecond(1e10)},
                                                          {48, 256, 64, FlopsPerSecond(4e10)}};
  Graph graph;
  const ValueId qkv = graph.add_input("qkv", {DType::kF32, {8, 128, 3 * 6 * 64}});
  graph::attention(graph, qkv, {6, true});
  // Two products of 48 groups of 128 x 128 x 64, half of them.
  EXPECT_NEAR(price_of(cluster, graph).time.value, 2 * 2.0 * 48 * 128 * 128 * 64 / 2 / 2e10, kExact);
}

TEST(CostModel, RecurrentLayersFollowTheirCurve) {
  cluster::Cluster cluster = plain_cluster();
  // rate = 1e10 * batch / 64; the curve of a layer serves for one that gives its last step only.
  cluster.devices[0].recurrent["f32.recurrent.lstm"] = {{64, 20, 64, FlopsPerSecond(1e10)},
                                                        {256, 20, 64, FlopsPerSecond(4e10)}};
  Graph graph;
  const auto input = [&](const char* name, Shape shape) {
    return graph.add_input(name, {DType::kF32, std::move(shape)});
  };
  const graph::RecurrentWeights weights = {input("ih", {256, 20}), input("hh", {256, 64}), input("bih", {256}),
                                           input("bhh", {256})};
  graph::recurrent(graph, input("x", {128, 60, 20}), weights, {graph::Cell::kLstm, true});
  EXPECT_NEAR(price_of(cluster, graph).time.value, 2.0 * 128 * 60 * 256 * (20 + 64) / 2e10, kExact);
}

TEST(CostModel, MoreWorkNeverTakesLess) {
  const cluster::Cluster cluster = with_gemm();
  double before = 0;
  for (std::int64_t rows = 1; rows < 100000; rows = rows * 5 / 4 + 1) {
    const double time = price_of(cluster, linear_graph(rows, 512, 512)).time.value;
    EXPECT_GE(time, before) << rows;
    before = time;
  }
}

// A planted defect: a machine measured half as fast must be predicted half as fast.
TEST(CostModel, AWrongCurveIsSeen) {
  cluster::Cluster slow = with_gemm();
  for (cluster::GemmPoint& point : slow.devices[0].gemm["f32.nt"]) point.rate.value /= 2;
  const Graph graph = linear_graph(1024, 512, 512);
  EXPECT_NEAR(price_of(slow, graph).time.value / price_of(with_gemm(), graph).time.value, 2, 1e-9);
}

TEST(CostKey, NamesWhatChangesTheSpeed) {
  const auto key = [](const graph::Op& op, const graph::Attributes& attributes) {
    return graph::cost_key(op, attributes);
  };
  EXPECT_EQ(key(graph::linear_op(), graph::LinearAttributes{}.to_attributes()), "linear");
  EXPECT_EQ(key(graph::linear_op(), graph::LinearAttributes{graph::Activation::kGeluTanh, true}.to_attributes()),
            "linear.gelu_tanh.keep_pre");
  EXPECT_EQ(
      key(graph::layernorm_op(), graph::LayerNormAttributes{1e-5, graph::Activation::kGeluErf, true}.to_attributes()),
      "layernorm.gelu_erf.residual");
  EXPECT_EQ(key(graph::matmul_op(), graph::MatmulAttributes{true, false, true}.to_attributes()),
            "matmul.flatten.transpose_a");
}

}  // namespace
}  // namespace headway::sim
