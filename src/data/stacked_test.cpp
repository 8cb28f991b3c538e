#include "data/stacked.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/synthetic.h"

namespace headway::data {
namespace {

TEST(Stacked, HoldsTheSamplesInOrder) {
  const SyntheticRows rows(23, 6, 5);
  const Stacked stacked(std::make_unique<SyntheticRows>(23, 6, 5), 7);
  EXPECT_EQ(stacked.size(), 3);
  EXPECT_EQ(stacked.fields()[0].shape, (Shape{7, 6}));
  EXPECT_EQ(stacked.fields()[1].shape, (Shape{7, 1}));
  std::vector<float> input(42), target(7), row(6), one(1);
  for (std::int64_t sample = 0; sample < 3; ++sample) {
    stacked.read(sample,
                 std::vector{reinterpret_cast<std::byte*>(input.data()), reinterpret_cast<std::byte*>(target.data())});
    for (std::int64_t i = 0; i < 7; ++i) {
      rows.read(sample * 7 + i,
                std::vector{reinterpret_cast<std::byte*>(row.data()), reinterpret_cast<std::byte*>(one.data())});
      EXPECT_TRUE(std::equal(row.begin(), row.end(), input.begin() + i * 6));
      EXPECT_EQ(one[0], target[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(Stacked, RefusesFewerSamplesThanItTakes) {
  EXPECT_THROW(Stacked(std::make_unique<SyntheticRows>(6, 6, 5), 7), UserError);
}

}  // namespace
}  // namespace headway::data
