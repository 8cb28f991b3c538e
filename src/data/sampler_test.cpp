#include "data/sampler.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/error.h"

namespace headway::data {
namespace {

TEST(Sampler, TakesEverySampleOnceAnEpoch) {
  const Sampler sampler(7, 101, true);
  std::vector<std::vector<std::int64_t>> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t>& order = orders.emplace_back();
    for (std::int64_t at = 0; at < 101; ++at) order.push_back(sampler.index(epoch * 101 + at));
    EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), 101U);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
  EXPECT_NE(orders[0][0], Sampler(8, 101, true).index(0));
}

// Many at once, over the ends of epochs, with a last group of each length.
TEST(Sampler, GivesManyAsOneByOne) {
  for (const std::int64_t size : {1, 3, 10, 101, 2000}) {
    for (const bool shuffle : {false, true}) {
      const Sampler sampler(7, size, shuffle);
      for (std::size_t count = 0; count < 40; ++count) {
        std::vector<std::int64_t> many(count), single;
        sampler.indices(95, many);
        for (std::size_t at = 0; at < count; ++at) single.push_back(sampler.index(95 + static_cast<std::int64_t>(at)));
        EXPECT_EQ(many, single) << size << " " << count;
      }
    }
  }
}

TEST(Sampler, IsSequentialWithoutShuffle) {
  const Sampler sampler(7, 5, false);
  for (std::int64_t position = 0; position < 12; ++position) EXPECT_EQ(sampler.index(position), position % 5);
}

TEST(Sampler, StateGoesThereAndBack) {
  const Sampler sampler(7, 10, true);
  EXPECT_EQ(sampler.state(0), (SamplerState{0, 0}));
  EXPECT_EQ(sampler.state(9), (SamplerState{0, 9}));
  EXPECT_EQ(sampler.state(37), (SamplerState{3, 7}));
  for (const std::int64_t position : {std::int64_t{0}, std::int64_t{37}, std::int64_t{1} << 50}) {
    EXPECT_EQ(sampler.position(sampler.state(position)), position);
  }
}

TEST(Sampler, RejectsWhatCannotBe) {
  EXPECT_THROW(Sampler(1, 0, true), UserError);
  const Sampler sampler(7, 10, true);
  EXPECT_THROW(sampler.position({.epoch = 0, .position = 10}), UserError);
  EXPECT_THROW(sampler.position({.epoch = -1, .position = 0}), UserError);
  EXPECT_THROW(sampler.index(-1), InternalError);
}

}  // namespace
}  // namespace headway::data
