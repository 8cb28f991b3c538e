#include "data/market/lob_sim.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace headway::data {
namespace {

constexpr std::uint32_t kStream = 0x4C4F4253;  // "LOBS"
constexpr int kLadder = 4096;                  // ticks kept; prices stay away from its ends by recentring
constexpr int kMargin = 512;
constexpr std::int64_t kOpeningTick = 10'000;  // $100.00

// Rates per second and side; lots are of 100 shares. The queues settle near kLimitRate / (kCancelRate * reach) lots.
constexpr double kLimitRate = 9.0;
constexpr double kMarketRate = 1.6;
constexpr double kCancelRate = 0.06;  // of each resting lot
constexpr double kLimitLots = 3.0, kMarketLots = 3.5;
constexpr int kReach = 24;            // limit orders come at most this many ticks from the opposite best price
constexpr double kReachPower = 0.85;  // with probability ~ distance^-power

// How far the hidden trader and the imbalance lean the flow.
constexpr double kMetaMarket = 0.34, kMetaLimit = 0.18, kMetaCancel = 0.12;
constexpr double kImbalanceMarket = 0.22;
constexpr double kMetaBegin = 1.0 / 500, kMetaEnd = 1.0 / 700;  // a chance at each event

// Hawkes: each market order adds kExcite to its side's intensity and a quarter of that to the other's, which then
// decays at kDecay: (kExcite * 1.25) / kDecay = 0.5 descendants each.
constexpr double kDecay = 4.0, kExcite = 0.4 * kDecay, kCrossExcite = 0.1 * kDecay;
constexpr double kBranching = (kExcite + kCrossExcite) / kDecay;

constexpr int kDeepEnough = kLobLevels + 2;
constexpr int kRefillLots = 4;

// The chance that a limit order comes at a distance of at most 1, 2 ... ticks.
const std::array<double, kReach>& reach_distribution() {
  static const std::array<double, kReach> table = [] {
    std::array<double, kReach> sums = {};
    double sum = 0;
    for (int distance = 1; distance <= kReach; ++distance) {
      sum += std::pow(distance, -kReachPower);
      sums[static_cast<std::size_t>(distance - 1)] = sum;
    }
    for (double& each : sums) each /= sum;
    return sums;
  }();
  return table;
}

}  // namespace

LobDay::LobDay(const LobOptions& options, std::int64_t day) : options_(options), day_(static_cast<std::uint32_t>(day)) {
  HEADWAY_CHECK(options.events_per_row >= 1 && day >= 0,
                fmt::format("{} events a row, day {}", options.events_per_row, day));
  bid_.lots.assign(kLadder, 0);
  ask_.lots.assign(kLadder, 0);
  bid_.deeper = -1;
  const auto start = static_cast<std::int64_t>(uniform() * 400);  // days open within $2 of each other
  base_tick_ = kOpeningTick - 200 + start - kLadder / 2;
  bid_.best = kLadder / 2;
  ask_.best = kLadder / 2 + 1;
  for (int depth = 0; depth < kReach; ++depth) {
    add(bid_, kLadder / 2 - depth, 4 + geometric(6));
    add(ask_, kLadder / 2 + 1 + depth, 4 + geometric(6));
  }
  for (int warm = 0; warm < 2000; ++warm) step();  // the book forgets how it was made
  seconds_ = 0;
}

double LobDay::uniform() {
  const std::uint64_t block = drawn_ / 4;
  if (drawn_ % 4 == 0) {
    words_ = philox(options_.seed,
                    {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), kStream, day_});
  }
  return (words_[drawn_++ % 4] + 0.5) * 0x1p-32;
}

// 1, 2, 3 ... with this mean.
int LobDay::geometric(double mean) {
  return 1 + std::min(200, static_cast<int>(std::log(uniform()) / std::log(1 - 1 / mean)));
}

void LobDay::add(Side& side, int index, int lots) {
  std::int32_t& at = side.lots[static_cast<std::size_t>(index)];
  if (at == 0) ++side.levels;
  at += lots;
  side.total += lots;
  if ((side.best - index) * side.deeper > 0) side.best = index;
}

void LobDay::take(Side& side, int index, int lots) {
  std::int32_t& at = side.lots[static_cast<std::size_t>(index)];
  at -= lots;
  side.total -= lots;
  if (at > 0) return;
  --side.levels;
  refill(side);
  while (side.lots[static_cast<std::size_t>(side.best)] == 0) side.best += side.deeper;
}

// Market makers far from the price: there are always ten levels to show.
void LobDay::refill(Side& side) {
  if (side.levels >= kDeepEnough) return;
  int deepest = side.best;
  for (int found = 0, index = side.best; found < side.levels; index += side.deeper) {
    if (side.lots[static_cast<std::size_t>(index)] == 0) continue;
    deepest = index;
    ++found;
  }
  for (int index = deepest + side.deeper; side.levels < kDeepEnough; index += side.deeper)
    add(side, index, kRefillLots);
}

void LobDay::limit_order(Side& side, const Side& opposite) {
  const auto& table = reach_distribution();
  const auto distance = std::lower_bound(table.begin(), table.end(), uniform()) - table.begin() + 1;
  const int index = opposite.best + side.deeper * static_cast<int>(std::min<std::ptrdiff_t>(distance, kReach));
  add(side, index, geometric(kLimitLots));
}

void LobDay::market_order(Side& hit) {
  for (int left = geometric(kMarketLots); left > 0;) {
    const int taken = std::min(left, hit.lots[static_cast<std::size_t>(hit.best)]);
    take(hit, hit.best, taken);
    left -= taken;
  }
}

// Of each resting lot alike: a level is hit in proportion to its size.
void LobDay::cancel(Side& side) {
  auto pick = static_cast<std::int64_t>(uniform() * static_cast<double>(side.total));
  int index = side.best;
  for (;; index += side.deeper) {
    pick -= side.lots[static_cast<std::size_t>(index)];
    if (pick < 0) break;
  }
  take(side, index, std::min(geometric(kLimitLots), side.lots[static_cast<std::size_t>(index)]));
}

void LobDay::step() {
  const double toggle = uniform();
  if (metaorder_ == 0 && toggle < kMetaBegin) metaorder_ = toggle < kMetaBegin / 2 ? 1 : -1;
  if (metaorder_ != 0 && toggle > 1 - kMetaEnd) metaorder_ = 0;

  const double thick_bid = bid_.lots[static_cast<std::size_t>(bid_.best)];
  const double thick_ask = ask_.lots[static_cast<std::size_t>(ask_.best)];
  const double imbalance = (thick_bid - thick_ask) / (thick_bid + thick_ask);
  const double lean = kMetaMarket * metaorder_ + kImbalanceMarket * imbalance;
  const bool hawkes = options_.arrivals == Arrivals::kHawkes;
  const double base = kMarketRate * (hawkes ? 1 - kBranching : 1);
  const double limit_bid = kLimitRate * (1 + kMetaLimit * metaorder_);
  const double limit_ask = kLimitRate * (1 - kMetaLimit * metaorder_);
  const double cancel_bid = kCancelRate * static_cast<double>(bid_.total) / kLimitLots * (1 - kMetaCancel * metaorder_);
  const double cancel_ask = kCancelRate * static_cast<double>(ask_.total) / kLimitLots * (1 + kMetaCancel * metaorder_);
  for (;;) {
    const double bound = limit_bid + limit_ask + cancel_bid + cancel_ask + 2 * base + excited_buy_ + excited_sell_;
    const double wait = -std::log(uniform()) / bound;
    seconds_ += wait;
    if (hawkes) {
      const double decay = std::exp(-kDecay * wait);
      excited_buy_ *= decay;
      excited_sell_ *= decay;
    }
    double pick = uniform() * bound;
    if ((pick -= limit_bid) < 0) return limit_order(bid_, ask_);
    if ((pick -= limit_ask) < 0) return limit_order(ask_, bid_);
    if ((pick -= cancel_bid) < 0) return cancel(bid_);
    if ((pick -= cancel_ask) < 0) return cancel(ask_);
    const double buy = base * (1 + lean) + excited_buy_, sell = base * (1 - lean) + excited_sell_;
    if (pick >= buy + sell) continue;  // thinned: the intensities have fallen since the bound was taken
    const bool buys = pick < buy;
    if (hawkes) {
      excited_buy_ += buys ? kExcite : kCrossExcite;
      excited_sell_ += buys ? kCrossExcite : kExcite;
    }
    ++market_orders_;
    return market_order(buys ? ask_ : bid_);
  }
}

// Moves the ladder under the price; what falls off its ends is hundreds of ticks away from any trade.
void LobDay::recentre() {
  if (bid_.best > kMargin && ask_.best < kLadder - kMargin) return;
  const int shift = bid_.best - kLadder / 2;
  for (Side* side : {&bid_, &ask_}) {
    std::vector<std::int32_t> moved(kLadder, 0);
    side->total = side->levels = 0;
    for (int index = std::max(0, shift); index < std::min(kLadder, kLadder + shift); ++index) {
      const std::int32_t lots = side->lots[static_cast<std::size_t>(index)];
      moved[static_cast<std::size_t>(index - shift)] = lots;
      side->total += lots;
      side->levels += lots > 0;
    }
    side->lots = std::move(moved);
    side->best -= shift;
    refill(*side);
  }
  base_tick_ += shift;
}

void LobDay::write_side(const Side& side, float* out) const {
  constexpr float kLot = 100;
  int index = side.best;
  for (int level = 0; level < kLobLevels; index += side.deeper) {
    const std::int32_t lots = side.lots[static_cast<std::size_t>(index)];
    if (lots == 0) continue;
    out[4 * level] = static_cast<float>((base_tick_ + index) * kLobTick);
    out[4 * level + 1] = static_cast<float>(lots) * kLot;
    ++level;
  }
}

void LobDay::next(LobRow& row) {
  for (std::int64_t event = 0; event < options_.events_per_row; ++event) {
    step();
    recentre();
  }
  write_side(ask_, row.book.data());
  write_side(bid_, row.book.data() + 2);
  row.time_ns = static_cast<std::int64_t>(seconds_ * 1e9);
  row.mid = static_cast<double>(2 * base_tick_ + ask_.best + bid_.best) * kLobTick / 2;
}

}  // namespace headway::data
