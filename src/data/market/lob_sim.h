// A simulated limit order book: order flow in, snapshots of ten levels a side out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace headway::data {

// The book follows the Markovian order flow of Cont, Stoikov and Talreja ("A stochastic model for order book dynamics",
// Operations Research 58, 2010): on each side limit orders arrive at distances from the opposite best price, the nearer
// the oftener; market orders take the best price; every resting lot is cancelled at a constant rate. Two mechanisms are
// added, both of them seen in markets:
//
// *Metaorders.* A large trader splits an order into many (Lillo, Mike, Farmer: "Theory for long memory in supply and
// demand", 2005): a hidden state, buying, selling or neither, lasts for some hundred events and leans the sides of
// market orders, limit orders and cancellations its way. So the flow has memory, and moves follow moves.
//
// *Queue imbalance.* Market orders come oftener on the side of the thicker queue (Gould, Bonart: "Queue imbalance as a
// one-tick-ahead price predictor in a limit order book", 2016). Together with the thin queue being empty sooner, the
// imbalance predicts the next move of the mid-price.
//
// Arrivals are Poisson, or market orders excite each other: a Hawkes process with an exponential kernel, simulated by
// thinning (Ogata 1981): between events intensities only fall, so the present total bounds what comes.
//
// A day begins with an empty book around a price of its own and is a pure function of (seed, day): any day can be made
// without the others, any length.
enum class Arrivals : std::uint8_t { kPoisson, kHawkes };

struct LobOptions {
  std::uint64_t seed = 1;
  Arrivals arrivals = Arrivals::kPoisson;
  std::int64_t events_per_row = 5;  // of the book, between two snapshots
};

inline constexpr int kLobLevels = 10;
inline constexpr int kLobFeatures = 4 * kLobLevels;
// Prices are integers as in LOBSTER's files, dollars x 10,000; a tick is a cent.
inline constexpr std::int64_t kLobTick = 100;

// The order of LOBSTER's order-book files: ask price, ask size, bid price, bid size, by level from the best on.
struct LobRow {
  std::array<float, kLobFeatures> book = {};
  std::int64_t time_ns = 0;  // since the start of the day
  double mid = 0;
};

class LobDay {
 public:
  LobDay(const LobOptions& options, std::int64_t day);

  // The snapshot after the next `events_per_row` events.
  void next(LobRow& row);

  // Market orders so far.
  std::int64_t market_orders() const { return market_orders_; }

 private:
  // One side of the book: sizes in lots by tick, counted away from the spread ("deeper" is +1 for asks, -1 for bids).
  struct Side {
    std::vector<std::int32_t> lots;
    int deeper = 1;
    int best = 0;            // index of the best price
    int levels = 0;          // prices with lots
    std::int64_t total = 0;  // lots
  };

  double uniform();
  int geometric(double mean);
  void add(Side& side, int index, int lots);
  void take(Side& side, int index, int lots);
  void refill(Side& side);
  void step();
  void limit_order(Side& side, const Side& opposite);
  void market_order(Side& hit);
  void cancel(Side& side);
  void recentre();
  void write_side(const Side& side, float* out) const;

  LobOptions options_;
  std::uint32_t day_;
  std::uint64_t drawn_ = 0;  // words taken of the day's stream
  std::array<std::uint32_t, 4> words_ = {};
  Side bid_, ask_;
  std::int64_t base_tick_ = 0;  // price of index 0, in ticks
  double seconds_ = 0;
  std::int64_t market_orders_ = 0;
  double excited_buy_ = 0, excited_sell_ = 0;  // Hawkes: intensity above the base
  int metaorder_ = 0;                          // +1 buying, -1 selling
};

}  // namespace headway::data
