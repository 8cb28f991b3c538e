#include "data/market/lob_sim.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headway::data {
namespace {

std::vector<LobRow> simulate(const LobOptions& options, std::int64_t day, std::size_t rows) {
  std::vector<LobRow> made(rows);
  LobDay book(options, day);
  for (LobRow& row : made) book.next(row);
  return made;
}

double imbalance(const LobRow& row) {
  return static_cast<double>(row.book[3] - row.book[1]) / static_cast<double>(row.book[3] + row.book[1]);
}

class StylisedFacts : public testing::TestWithParam<Arrivals> {};

TEST_P(StylisedFacts, TheBookIsABook) {
  const auto rows = simulate({.seed = 3, .arrivals = GetParam()}, 0, 5000);
  double spread = 0;
  for (std::size_t number = 0; number < rows.size(); ++number) {
    const LobRow& row = rows[number];
    ASSERT_GE(row.book[0] - row.book[2], static_cast<float>(kLobTick)) << "row " << number;
    ASSERT_EQ(row.mid, static_cast<double>(row.book[0] + row.book[2]) / 2);
    for (std::size_t level = 0; level < kLobLevels; ++level) {
      ASSERT_GT(row.book[4 * level + 1], 0) << "row " << number;
      ASSERT_GT(row.book[4 * level + 3], 0) << "row " << number;
      ASSERT_EQ(std::fmod(row.book[4 * level], static_cast<float>(kLobTick)), 0);
      if (level == 0) continue;
      ASSERT_GT(row.book[4 * level], row.book[4 * level - 4]) << "row " << number;
      ASSERT_LT(row.book[4 * level + 2], row.book[4 * level - 2]) << "row " << number;
    }
    if (number > 0) {
      ASSERT_GE(row.time_ns, rows[number - 1].time_ns);
    }
    spread += static_cast<double>(row.book[0] - row.book[2]) / static_cast<double>(kLobTick);
  }
  EXPECT_LT(spread / static_cast<double>(rows.size()), 2.0);  // a liquid stock: mostly one tick
}

TEST_P(StylisedFacts, ImbalancePredictsTheNextMove) {
  const auto rows = simulate({.seed = 4, .arrivals = GetParam()}, 1, 30'000);
  double product = 0, move_squares = 0, imbalance_squares = 0;
  std::int64_t moves = 0;
  for (std::size_t number = 0; number + 1 < rows.size(); ++number) {
    const double move = rows[number + 1].mid - rows[number].mid, side = imbalance(rows[number]);
    product += move * side;
    move_squares += move * move;
    imbalance_squares += side * side;
    moves += move != 0;
  }
  // About 29,000 pairs: a correlation of noise is under 0.02.
  EXPECT_GT(product / std::sqrt(move_squares * imbalance_squares), 0.1);
  EXPECT_GT(moves, 1000);    // the price moves,
  EXPECT_LT(moves, 15'000);  // but not with every snapshot
}

INSTANTIATE_TEST_SUITE_P(, StylisedFacts, testing::Values(Arrivals::kPoisson, Arrivals::kHawkes),
                         [](const auto& which) { return which.param == Arrivals::kPoisson ? "poisson" : "hawkes"; });

TEST(LobDay, ADayIsAPureFunctionOfSeedAndDay) {
  const auto same = [](const std::vector<LobRow>& a, const std::vector<LobRow>& b) {
    for (std::size_t row = 0; row < std::min(a.size(), b.size()); ++row) {
      if (a[row].book != b[row].book || a[row].time_ns != b[row].time_ns) return false;
    }
    return true;
  };
  const auto rows = simulate({.seed = 9}, 2, 300);
  EXPECT_TRUE(same(rows, simulate({.seed = 9}, 2, 500)));
  EXPECT_FALSE(same(rows, simulate({.seed = 9}, 3, 300)));
  EXPECT_FALSE(same(rows, simulate({.seed = 10}, 2, 300)));
  EXPECT_FALSE(same(rows, simulate({.seed = 9, .arrivals = Arrivals::kHawkes}, 2, 300)));
}

// Market orders in intervals of two seconds: Poisson counts have a variance of their mean; with half a descendant each,
// that of long intervals is 1 / (1 - 0.5)^2 = 4 times it.
TEST(LobDay, HawkesArrivalsCluster) {
  const auto dispersion = [](Arrivals arrivals) {
    LobDay book({.seed = 5, .arrivals = arrivals, .events_per_row = 1}, 0);
    LobRow row;
    constexpr double kInterval = 2e9;
    double edge = kInterval, sum = 0, squares = 0, intervals = 0;
    std::int64_t before = book.market_orders();
    for (int event = 0; event < 60'000; ++event) {
      book.next(row);
      for (; static_cast<double>(row.time_ns) > edge; edge += kInterval) {
        const auto count = static_cast<double>(book.market_orders() - before);
        before = book.market_orders();
        sum += count;
        squares += count * count;
        ++intervals;
      }
    }
    const double mean = sum / intervals;
    EXPECT_NEAR(mean, 6.4, 1.5);  // the same rate of both
    return (squares / intervals - mean * mean) / mean;
  };
  EXPECT_NEAR(dispersion(Arrivals::kPoisson), 1, 0.2);
  EXPECT_GT(dispersion(Arrivals::kHawkes), 1.8);
}

}  // namespace
}  // namespace headway::data
