#include "record/result.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/environment.h"
#include "base/error.h"

namespace headway::record {
namespace {

Result full_result() {
  Result result;
  result.kind = "bench";
  result.id = "20250601T120000000000-0000abcd";
  result.time = "2025-06-01T12:00:00Z";
  result.revision = "abc123";
  result.machine = {"A CPU",  "x86_64", 2, 4, 1, {"avx2", "fma"}, 32768, 1 << 20, 1 << 25, std::int64_t{1} << 34,
                    "Linux 6"};
  result.workload = "gpt";
  result.precision = "bf16";
  result.ranks = 2;
  result.threads = 3;
  result.device = "cuda";
  result.strategy = {2, 1, true, 1, 1, 1, 1, PipelineOrder::kGPipe, 1, 4, 12.5, ReduceOrder::kAny};
  result.metrics = {StepTime{1.5, 2.5, 3.5, 4.5, 30, "settled"},
                    1000.5,
                    "token",
                    0.5,
                    0.6,
                    1e9,
                    2e12,
                    0.25,
                    1.75,
                    2.0,
                    0.9,
                    0.34,
                    0.12,
                    600,
                    1.5,
                    12.5,
                    1000,
                    900,
                    std::int64_t{1} << 40,
                    0.01,
                    0.02,
                    2.25,
                    3e9,
                    1.5e9,
                    2e6,
                    42.0,
                    1e-6,
                    2e-6,
                    3e-6};
  result.breakdown = {{"matmul", 1.5, 1.25, 0.6, 1e9, 2e6, "compute"},
                      {"gelu", 0.5, std::nullopt, 0.2, 1e6, 4e6, "memory"}};
  result.peers = {{"torch eager", 3.5, 1.4, 1.2, 1.5}};
  result.samples = {{"step_ms", {2.0, 2.5, 3.0}}, {"loss", {}}};
  result.notes = {"noisy machine: p90/p10 is 1.4", "\"quoted\" caf\xC3\xA9\n"};
  return result;
}

Result small_result() {
  Result result;
  result.kind = "plan";
  result.id = "two";
  return result;
}

std::string message(const std::string& text) {
  try {
    results_from_json(text, "r.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// The text of a small valid result with one member replaced.
std::string with(const std::string& key, const std::string& value) {
  auto json = nlohmann::json::parse(R"({"schema": "headway.result/1", "kind": "bench", "id": "one"})");
  json[nlohmann::json::json_pointer(key)] = nlohmann::json::parse(value);
  return json.dump();
}

TEST(ResultJson, ReadsBackWhatItWrote) {
  const Result result = full_result();
  EXPECT_EQ(result_from_json(to_json(result), "x"), result);
  EXPECT_EQ(result_from_json(to_json(result, -1), "x"), result);
  EXPECT_EQ(to_json(result, -1).find('\n'), std::string::npos);
  const std::vector<Result> two = {result, small_result()};
  EXPECT_EQ(results_from_json(to_json(two), "x"), two);
  EXPECT_EQ(results_from_json(to_json(result), "x"), std::vector<Result>{result});
}

TEST(ResultJson, HasTheShapeOfTheSchema) {
  const auto json = nlohmann::json::parse(to_json(full_result()));
  EXPECT_EQ(json["schema"], "headway.result/1");
  EXPECT_EQ(json["machine"]["cores"], 2);
  EXPECT_EQ(json["metrics"]["step_ms"]["p50"], 2.5);
  EXPECT_EQ(json["metrics"]["step_ms"]["n"], 30);
  EXPECT_EQ(json["metrics"]["peak_rss_bytes"], std::int64_t{1} << 40);
  EXPECT_EQ(json["breakdown"][0]["predicted_ms"], 1.25);
  EXPECT_FALSE(json["breakdown"][1].contains("predicted_ms"));
  EXPECT_EQ(json["samples"]["step_ms"].size(), 3U);
  EXPECT_EQ(json["strategy"], nlohmann::json::parse(R"({"dp": 2, "sp": true, "zero": 1, "schedule": "gpipe",
                                                        "micro_batches": 4, "bucket_mb": 12.5, "order": "any"})"));
  EXPECT_EQ(to_json(full_result()).find("\"schema\""), 4U) << "schema comes first";
}

TEST(ResultJson, LeavesOutWhatDoesNotApply) {
  const auto json = nlohmann::json::parse(to_json(small_result()));
  EXPECT_EQ(json["metrics"], nlohmann::json::object());
  EXPECT_EQ(json["strategy"], nlohmann::json::object());
  EXPECT_FALSE(json["machine"].contains("l3_bytes"));
}

TEST(ResultJson, WritesWhatIsNotFiniteAsNull) {
  Result result = full_result();
  const double infinity = std::numeric_limits<double>::infinity();
  result.metrics.loss = std::numeric_limits<double>::quiet_NaN();
  result.metrics.mfu = infinity;
  result.metrics.step_ms->p99 = -infinity;
  result.samples["loss"] = {1.0, std::numeric_limits<double>::quiet_NaN()};
  const auto json = nlohmann::json::parse(to_json(result));  // throws for a bare NaN
  EXPECT_TRUE(json["metrics"]["loss"].is_null());
  EXPECT_TRUE(json["metrics"]["mfu"].is_null());
  EXPECT_TRUE(json["metrics"]["step_ms"]["p99"].is_null());
  EXPECT_TRUE(json["samples"]["loss"][1].is_null());
  const Result back = result_from_json(to_json(result), "x");
  EXPECT_TRUE(std::isnan(back.metrics.loss.value()));
  EXPECT_TRUE(std::isnan(back.samples.at("loss")[1]));
}

TEST(ResultJson, BytesThatAreNotTextDoNotStopWriting) {
  Result result = full_result();
  result.notes = {"bad \xFF byte"};
  EXPECT_EQ(result_from_json(to_json(result), "x").notes[0], "bad \xEF\xBF\xBD byte");
}

TEST(ResultJson, ReadsOtherWritersOfTheSchema) {
  const Result result = result_from_json(
      R"({"schema": "headway.result/1", "kind": "bench", "id": "one", "future": {"a": [1]}, "ranks": 2.0,
          "metrics": {"loss": 1, "steps": null, "new": 3}, "strategy": {"tp": 2}})",
      "x");
  EXPECT_EQ(result.ranks, 2);
  EXPECT_EQ(result.threads, 1);
  EXPECT_EQ(result.metrics.loss, 1.0);
  EXPECT_FALSE(result.metrics.steps);
  EXPECT_EQ(result.strategy.tp, 2);
  EXPECT_EQ(result.strategy.bucket_mb, 25);
}

TEST(ResultJson, ErrorsNameFileAndKey) {
  EXPECT_EQ(message(with("/schema", "\"headway.result/2\"")),
            "r.json: schema: is 'headway.result/2'; this program reads 'headway.result/1'");
  EXPECT_EQ(message("{}"), "r.json: schema: is missing; this program reads 'headway.result/1'");
  EXPECT_EQ(message("[{}]"), "r.json: [0].schema: is missing; this program reads 'headway.result/1'");
  EXPECT_EQ(message("3"), "r.json: 3 is not an object");
  EXPECT_EQ(message(with("/schema", "1")), "r.json: schema: 1 is not text");
  EXPECT_EQ(message(with("/kind", "\"\"")), "r.json: an object has no kind; a result names its command");
  EXPECT_EQ(message(with("/id", "\"\"")), "r.json: an object has no id");
  EXPECT_EQ(message(with("/id", "null")), "r.json: id: null is not text");
  EXPECT_EQ(message(with("/metrics/step_ms/p50", "\"abc\"")), "r.json: metrics.step_ms.p50: \"abc\" is not a number");
  EXPECT_EQ(message(with("/metrics/steps", "1.5")), "r.json: metrics.steps: 1.5 is not a whole number");
  EXPECT_EQ(message(with("/metrics/steps", "1e300")), "r.json: metrics.steps: 1e+300 is not a whole number");
  EXPECT_EQ(message(with("/ranks", "18446744073709551615")),
            "r.json: ranks: 18446744073709551615 is not a whole number of 64 bits");
  EXPECT_EQ(message(with("/metrics", "[]")), "r.json: metrics: a list is not an object");
  EXPECT_EQ(message(with("/breakdown", "{}")), "r.json: breakdown: an object is not a list");
  EXPECT_EQ(message(with("/breakdown", R"([{"op": "a"}, {"op": 1}])")), "r.json: breakdown[1].op: 1 is not text");
  EXPECT_EQ(message(with("/samples", R"({"step_ms": [1, true]})")), "r.json: samples.step_ms[1]: true is not a number");
  EXPECT_EQ(message(with("/samples", "[]")), "r.json: samples: a list is not an object");
  EXPECT_EQ(message(with("/strategy/sp", "1")), "r.json: strategy.sp: 1 is not true or false");
  EXPECT_EQ(message(with("/strategy/order", "\"fixd\"")),
            "r.json: strategy.order: 'fixd' is not known; did you mean 'fixed'?");
  EXPECT_TRUE(message("{\"a\": ").starts_with("r.json: not valid JSON: parse error at line 1, column 7"))
      << message("{\"a\": ");
  EXPECT_TRUE(message("").starts_with("r.json: not valid JSON: "));
  EXPECT_TRUE(message(std::string(300'000, '[')).starts_with("r.json: not valid JSON: "));
}

TEST(Identity, IdsDifferAndSortByTime) {
  const std::string first = make_id(), same_moment = make_id();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const std::string later = make_id();
  EXPECT_NE(first, same_moment);
  EXPECT_LT(first, later);
  EXPECT_EQ(make_id(1'748'779'200'000'042, 0xAB), "20250601T120000000042-000000ab");
  EXPECT_EQ(first.size(), same_moment.size());
}

TEST(Identity, TimeIsUtcInIsoForm) {
  const std::string now = utc_now();
  ASSERT_EQ(now.size(), 20U) << now;
  std::tm parts{};
  ASSERT_NE(strptime(now.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
  EXPECT_NEAR(std::difftime(timegm(&parts), std::time(nullptr)), 0, 2);
}

class FakeSystem : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) / ("headway_record_machine_" + std::to_string(::getpid()));
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  std::filesystem::path root_;
};

TEST_F(FakeSystem, IsDescribedFromItsFiles) {
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\nflags\t\t: fpu avx2 amx_bf16 fma\n\n"
        "processor\t: 1\nmodel name\t: Other\n");
  write("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n");
  const std::string cpu = "sys/devices/system/cpu/cpu" + std::to_string(allowed_cpus().front());
  write(cpu + "/cache/index0/level", "1\n");
  write(cpu + "/cache/index0/type", "Data\n");
  write(cpu + "/cache/index0/size", "48K\n");
  write(cpu + "/cache/index1/level", "1\n");
  write(cpu + "/cache/index1/type", "Instruction\n");
  write(cpu + "/cache/index1/size", "32K\n");
  write(cpu + "/cache/index2/level", "2\n");
  write(cpu + "/cache/index2/type", "Unified\n");
  write(cpu + "/cache/index2/size", "2M\n");
  for (const int index : allowed_cpus()) {  // all logical processors on one core
    write("sys/devices/system/cpu/cpu" + std::to_string(index) + "/topology/core_id", "0\n");
    write("sys/devices/system/cpu/cpu" + std::to_string(index) + "/topology/physical_package_id", "3\n");
  }
  const Machine machine = describe_machine(root_);
  EXPECT_EQ(machine.cpu, "Fast CPU @ 3 GHz");
  EXPECT_EQ(machine.features, (std::vector<std::string>{"fma", "avx2", "amx_bf16"}));
  EXPECT_EQ(machine.cores, 1);
  EXPECT_EQ(machine.cpus, static_cast<std::int64_t>(allowed_cpus().size()));
  EXPECT_EQ(machine.sockets, 1);
  EXPECT_EQ(machine.l1d_bytes, 48 * 1024);
  EXPECT_EQ(machine.l2_bytes, 2 * 1024 * 1024);
  EXPECT_FALSE(machine.l3_bytes);
  EXPECT_EQ(machine.memory_bytes, 1024 * 1024);
}

TEST_F(FakeSystem, ThatTellsNothingIsStillDescribed) {
  const Machine machine = describe_machine(root_);
  EXPECT_EQ(machine.cpu, "unknown");
  EXPECT_GE(machine.cores, 1);
  EXPECT_FALSE(machine.sockets);
  EXPECT_FALSE(machine.memory_bytes);
  EXPECT_FALSE(machine.l1d_bytes);
}

TEST_F(FakeSystem, ArmProcessorsAreNamedByNumber) {
  write("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
  const Machine machine = describe_machine(root_);
  EXPECT_EQ(machine.cpu, "implementer 0x41 part 0xd40");
  EXPECT_EQ(machine.features, (std::vector<std::string>{"asimd", "sve"}));
}

TEST(MachineHere, IsDescribedWithoutItsName) {
  const Machine machine = describe_machine();
  EXPECT_NE(machine.cpu, "unknown");
  EXPECT_FALSE(machine.architecture.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_LE(machine.cores, machine.cpus);
  EXPECT_GT(machine.memory_bytes.value_or(0), std::int64_t{1} << 27);
  EXPECT_TRUE(machine.kernel.starts_with("Linux ")) << machine.kernel;
}

}  // namespace
}  // namespace headway::record
