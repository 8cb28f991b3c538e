#include "bench/meters.h"

#include <gtest/gtest.h>

#include <fstream>

namespace headway::bench {
namespace {

class FakePowercap : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) / "powercap";
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& domain, const char* file, double value) {
    std::filesystem::create_directories(root_ / domain);
    std::ofstream(root_ / domain / file) << std::fixed << value;
  }

  std::filesystem::path root_;
};

// Two packages add up; the core domain inside one must not be counted twice; the second one wraps.
TEST_F(FakePowercap, AddsPackagesAndWraps) {
  for (const char* domain : {"intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"}) {
    write(domain, "max_energy_range_uj", 1000e6);
    write(domain, "energy_uj", 900e6);
  }
  Meters meters(root_);
  meters.start();
  write("intel-rapl:0", "energy_uj", 905e6);
  write("intel-rapl:0:0", "energy_uj", 904e6);
  write("intel-rapl:1", "energy_uj", 7e6);
  ASSERT_TRUE(meters.read().joules);
  EXPECT_NEAR(*meters.read().joules, 5 + 107, 1e-6);
  EXPECT_EQ(meters.missing().find("energy"), std::string::npos);
}

TEST_F(FakePowercap, SaysWhatIsMissing) {
  EXPECT_NE(Meters(root_).missing().find("energy (the kernel shows no RAPL)"), std::string::npos);
  std::filesystem::create_directories(root_ / "intel-rapl:0");
  const Meters meters(root_);
  EXPECT_NE(meters.missing().find("energy (only root may read RAPL)"), std::string::npos);
  EXPECT_FALSE(meters.read().joules);
}

// A counter that is there counts; one that is not is said.
TEST(Meters, CountsInstructionsOrSaysWhyNot) {
  Meters meters;
  meters.start();
  double sum = 0;
  for (int i = 0; i < 1000000; ++i) sum += static_cast<double>(i);
  EXPECT_GT(sum, 0);
  const MeterReading reading = meters.read();
  if (reading.instructions) {
    EXPECT_GT(*reading.instructions, 1e6);
  } else {
    EXPECT_NE(meters.missing().find("hardware counters (perf_event_open: "), std::string::npos);
  }
}

}  // namespace
}  // namespace headway::bench
