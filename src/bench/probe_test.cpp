#include "bench/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "backend/cpu/cpu_device.h"
#include "bench/probe_plan.h"
#include "graph/cost_key.h"
#include "graph/ops/all.h"

namespace headway::bench {
namespace {

class CountingProgress : public Progress {
 public:
  void update(std::string_view, std::int64_t done, std::int64_t total, std::string_view) override {
    EXPECT_LE(done, total);
    ++updates;
  }
  int updates = 0;
};

// Every curve is there with positive, finite values, and the file can be read again.
TEST(Probe, MeasuresEverything) {
  const std::unique_ptr<backend::Device> device = backend::open_cpu_device(1);
  ProbeOptions options;
  options.budget = Seconds(0);
  options.scale = 1.0 / 64;
  options.window = Bytes(1 << 20);
  CountingProgress progress;
  const cluster::Cluster cluster = probe_machine(*device, &progress, options);
  EXPECT_GT(progress.updates, 100);
  EXPECT_EQ(cluster::parse_cluster(cluster::to_yaml(cluster), "probe.yaml"), cluster);

  ASSERT_EQ(cluster.devices.size(), 1U);
  const cluster::DeviceKind& cpu = cluster.devices[0];
  EXPECT_EQ(cpu.name, "cpu");
  EXPECT_EQ(cpu.threads, 1);
  EXPECT_GE(cpu.bandwidth.size(), 4U);
  for (const char* layout : {"f32.nt", "f32.nn", "f32.tn"}) EXPECT_TRUE(cpu.gemm.contains(layout)) << layout;
  for (const char* kind : {"f32.conv2d", "f32.conv2d_grad_input", "f32.conv2d_grad_weight"}) {
    EXPECT_TRUE(cpu.conv.contains(kind)) << kind;
  }
  for (const char* kind :
       {"f32.attention", "f32.attention.causal", "f32.attention_grad", "f32.attention_grad.causal"}) {
    EXPECT_TRUE(cpu.attention.contains(kind)) << kind;
  }
  for (const char* kind : {"f32.recurrent.lstm", "f32.recurrent_grad.lstm", "f32.recurrent_grad.lstm.input_gradient",
                           "f32.recurrent.gru"}) {
    EXPECT_TRUE(cpu.recurrent.contains(kind)) << kind;
  }
  for (const char* key : {"f32.epilogue.relu", "f32.epilogue.gelu_tanh.keep_pre", "f32.adamw", "f32.layernorm.gelu_erf",
                          "f32.activation_grad.relu.bias_grad"}) {
    EXPECT_TRUE(cpu.ops.contains(key)) << key;
  }
}

// An op that is not measured is priced by a roofline: seen here when a new op is forgotten.
TEST(Probe, NoOpIsForgotten) {
  const std::unique_ptr<backend::Device> device = backend::open_cpu_device(1);
  const std::vector<ProbePoint> points = plan_probe(*device, 1.0 / 64);
  // Tiny; no task at all; by the curves of linear and matmul.
  const std::set<std::string> priced_otherwise = {"fill", "reshape", "grouped_linear", "grouped_linear_grad_input",
                                                  "grouped_linear_grad_weight"};
  for (const graph::Op* op : graph::all_ops()) {
    const std::string name(op->name());
    if (priced_otherwise.contains(name)) continue;
    const bool found = std::any_of(points.begin(), points.end(), [&](const ProbePoint& point) {
      return point.name.find(name) != std::string::npos || (name == "linear" && point.name.starts_with("f32.nt")) ||
             (name == "matmul" && point.name.starts_with("f32.tn"));
    });
    EXPECT_TRUE(found) << name;
  }
}

// Operands of successive launches differ until the window is used up; those of a hot point never do; nothing overlaps.
TEST(Probe, OperandsRotate) {
  const std::unique_ptr<backend::Device> device = backend::open_cpu_device(1);
  ProbePlan plan(*device, 1);
  plan.add_flat_ops();
  std::vector<ProbePoint> points = plan.take();
  ProbeMemory memory(*device, Bytes(1 << 20), points);
  const auto two_operands = [&](ProbePoint& candidate) { return memory.bind(candidate).inputs.size() == 2; };
  const auto found = std::find_if(points.begin(), points.end(), two_operands);
  ASSERT_NE(found, points.end());
  ProbePoint& point = *found;
  const ProbeMemory::Binding first = memory.bind(point), second = memory.bind(point);
  EXPECT_NE(first.inputs[0], second.inputs[0]);
  EXPECT_NE(first.inputs[0], first.inputs[1]);
  EXPECT_NE(first.outputs[0], second.outputs[0]);
  point.hot = true;
  EXPECT_EQ(memory.bind(point).inputs, memory.bind(point).inputs);
}

}  // namespace
}  // namespace headway::bench
