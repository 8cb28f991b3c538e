#include "trace/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headway::trace {
namespace {

Timeline example(const char* source) {
  Timeline timeline;
  timeline.source = source;
  timeline.spans.push_back({0, 0, 0, 0, "a", "linear", Seconds(10.0), Seconds(0.002)});
  timeline.spans.push_back({0, 1, 0, 1, "b", "matmul", Seconds(10.001), Seconds(0.004)});
  return timeline;
}

TEST(Timeline, LengthIsFromFirstStartToLastEnd) {
  EXPECT_NEAR(example("x").length().value, 0.005, 1e-12);
  EXPECT_EQ(Timeline{}.length().value, 0);
}

// What Perfetto needs: complete events in microseconds from zero, processes named, one per source and rank.
TEST(Timeline, ChromeJsonHoldsBothTimelines) {
  const Timeline measured = example("measured"), predicted = example("predicted");
  const auto json = nlohmann::json::parse(to_chrome_json({&measured, &predicted}));
  int spans = 0, names = 0;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "M") {
      EXPECT_EQ(event.at("args").at("name"), names == 0 ? "measured rank 0" : "predicted rank 0");
      EXPECT_EQ(event.at("pid"), names++);
      continue;
    }
    EXPECT_EQ(event.at("pid"), spans / 2);
    EXPECT_NEAR(event.at("ts").get<double>(), spans % 2 == 0 ? 0 : 1000, 1e-3);
    EXPECT_NEAR(event.at("dur").get<double>(), spans % 2 == 0 ? 2000 : 4000, 1e-3);
    ++spans;
  }
  EXPECT_EQ(spans, 4);
}

}  // namespace
}  // namespace headway::trace
