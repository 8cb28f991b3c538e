#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/rng.h"
#include "cluster/cluster.h"

namespace headway::cluster {
namespace {

Cluster example() {
  DeviceKind cpu;
  cpu.name = "cpu";
  cpu.model = "A \"quoted\" \\ name:\n# with traps";
  cpu.threads = 2;
  cpu.memory = Bytes(std::int64_t{25} << 30);
  cpu.launch_overhead = Seconds(1.1e-6);
  cpu.relative_error = 0.03;
  cpu.peak = {{DType::kF32, FlopsPerSecond(3.1e11)}, {DType::kBF16, FlopsPerSecond(7e11)}};
  cpu.bandwidth = {{Bytes(16384), BytesPerSecond(1.0 / 3 * 1e12)}, {Bytes(1 << 28), BytesPerSecond(2e10)}};
  cpu.gemm["f32.nt"] = {{256, 128, 128, FlopsPerSecond(1e11)}, {256, 512, 128, FlopsPerSecond(1.5e11)}};
  cpu.conv["f32.conv2d_grad_input"] = {{16, 28, 28, 1, 32, 3, FlopsPerSecond(2e10)}};
  cpu.recurrent["f32.recurrent.lstm"] = {{800, 20, 64, FlopsPerSecond(2e11)}};
  cpu.attention["f32.attention.causal"] = {{48, 256, 64, FlopsPerSecond(9e10)}};
  cpu.ops["f32.layernorm.gelu_erf.residual"] = {{Bytes(4096), Seconds(2e-6)}, {Bytes(1 << 20), Seconds(1.0 / 7)}};
  DeviceKind other = cpu;
  other.name = "gpu";
  other.gemm.clear();
  other.ops.clear();
  return {"two kinds", "by hand", {cpu, other}};
}

constexpr std::string_view kText = R"(schema: headway.cluster/1
name: test
measured: by hand
devices:
  - name: cpu
    model: none
    threads: 2
    memory_bytes: 1000000
    launch_overhead_s: 1e-6
    peak_flops:
      f32: 1e11
    bandwidth:
      - [16384, 1e10]
    gemm:
      f32.nt:
        - [256, 128, 128, 1e11]
    ops:
      f32.adamw:
        - [1024, 1e-6]
complete: true
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text(kText);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string message(const std::string& text) {
  try {
    parse_cluster(text, "c.yaml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Cluster, ReadsWhatItWrote) {
  const Cluster cluster = example();
  const std::string text = to_yaml(cluster);
  const Cluster again = parse_cluster(text, "c.yaml");
  EXPECT_EQ(again, cluster);
  EXPECT_EQ(to_yaml(again), text);
}

TEST(Cluster, ComparisonSeesEveryPart) {
  Cluster changed = example();
  changed.devices[0].ops.begin()->second[1].time = Seconds(0.2);
  EXPECT_NE(changed, example());
}

TEST(Cluster, ReadsHandwrittenText) {
  const Cluster cluster = parse_cluster(std::string(kText), "c.yaml");
  ASSERT_EQ(cluster.devices.size(), 1U);
  EXPECT_EQ(cluster.devices[0].gemm.at("f32.nt")[0].n, 128);
  EXPECT_DOUBLE_EQ(cluster.devices[0].ops.at("f32.adamw")[0].time.value, 1e-6);
}

TEST(Cluster, ErrorsNameFileLineAndKey) {
  const std::array<std::array<std::string, 3>, 24> cases = {{
      {"threads: 2", "thraeds: 2", "c.yaml:7: devices[0].thraeds: unknown key 'thraeds'; did you mean 'threads'?"},
      {"threads: 2", "threads: two", "c.yaml:7: devices[0].threads: 'two' is not a whole number"},
      {"threads: 2", "threads: 2.5", "c.yaml:7: devices[0].threads: '2.5' is not a whole number"},
      {"threads: 2", "threads: 0", "c.yaml:7: devices[0].threads: '0' is not positive"},
      {"threads: 2", "threads: [2]", "c.yaml:7: devices[0].threads: is a list; a whole number is needed"},
      {"memory_bytes: 1000000", "memory_bytes: 99999999999999999999", "too large"},
      {"launch_overhead_s: 1e-6", "launch_overhead_s: -1e-6", "c.yaml:9: devices[0].launch_overhead_s: '-1e-6' is not"},
      {"launch_overhead_s: 1e-6", "launch_overhead_s: .nan", "c.yaml:9: devices[0].launch_overhead_s: '.nan' is not a"},
      {"launch_overhead_s: 1e-6", "launch_overhead_s: inf", "'inf' is not a finite number"},
      {"launch_overhead_s: 1e-6", "launch_overhead_s: 1e999", "'1e999' is not a finite number"},
      {"    threads: 2\n", "", "c.yaml:5: devices[0]: 'threads' is missing; is the file complete?"},
      {"f32: 1e11", "f31: 1e11",
       "c.yaml:11: devices[0].peak_flops.f31: unknown element type 'f31'; did you mean 'f32'?"},
      {"f32: 1e11", "bf16: 1e11", "c.yaml:10: devices[0].peak_flops: 'f32' is missing"},
      {"[256, 128, 128, 1e11]", "[256, 128, 1e11]",
       "c.yaml:16: devices[0].gemm.f32.nt[0]: has 3 numbers; 4 are needed"},
      {"f32.nt", "f32.mt", "c.yaml:15: devices[0].gemm.f32.mt: unknown curve 'mt'"},
      {"f32.nt", "nt", "a curve's name begins with an element type, such as f32.nt"},
      {"f32.nt", "f32.", "a curve has a name after its element type"},
      {"cluster/1", "cluster/2", "c.yaml:1: schema: 'headway.cluster/2' cannot be read here"},
      {"- [16384, 1e10]", "- [16384, 1e10]\n      - [16384, 2e10]", "bandwidth[1]: was measured twice at these sizes"},
      {"name: test", "name: test\nname: again", "c.yaml:3: name: is given twice"},
      {"f32: 1e11", "f32: 1e300", "c.yaml:11: devices[0].peak_flops.f32: '1e300' is larger than any device has"},
      {"complete: true\n", "", "c.yaml:1: 'complete' is missing; is the file complete?"},
      {"complete: true", "complete: no", "c.yaml:20: complete: is not true; measure again"},
      {"- [1024, 1e-6]", "[]", "ops.f32.adamw: has no points; leave the key out"},
  }};
  for (const auto& [from, to, expected] : cases) {
    const std::string got = message(replaced(from, to));
    EXPECT_NE(got.find(expected), std::string::npos) << to << " gave: " << got;
    EXPECT_TRUE(got.starts_with("c.yaml:")) << got;
  }
}

TEST(Cluster, RefusesWhatIsNoClusterFile) {
  for (const char* text :
       {"", "\n", "- a\n", "schema: headway.run/1\n", "a: [1, 2\n", "a: b\n---\nc: d\n", "\tx", "&a [*a]"}) {
    EXPECT_TRUE(message(text).starts_with("c.yaml:")) << text << " gave: " << message(text);
  }
}

// Cut anywhere before its last line break, between two points too, a file is an error.
TEST(Cluster, TruncatedFilesAreErrors) {
  const std::string text = to_yaml(example());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_NE(message(text.substr(0, length)), "no error") << length;
  }
}

TEST(Cluster, DamagedFilesReadOrAreUserErrors) {
  const std::string valid = to_yaml(example());
  constexpr std::array<std::string_view, 16> kPieces = {"{",  "}",      "[",     "]",  ": ", "\n",   "- ",    "&a ",
                                                        "*a", "!!str ", "---\n", "? ", "\"", "\xFF", "1e999", "-1"};
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    std::string text = valid;
    std::uint64_t drawn = 0;
    const auto draw = [&](std::size_t below) {
      return random_bits(seed, 1, 0, drawn++) % static_cast<std::uint32_t>(below);
    };
    const std::size_t at = draw(text.size());
    switch (draw(3)) {
      case 0:
        text[at] = static_cast<char>(draw(256));
        break;
      case 1:
        text.erase(at, 1 + draw(9));
        break;
      default:
        text.insert(at, kPieces[draw(kPieces.size())]);
    }
    try {
      parse_cluster(text, "c.yaml");
    } catch (const UserError&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "mutation " << seed << " threw: " << error.what();
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace headway::cluster
