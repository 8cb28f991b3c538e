#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace headway {
namespace {

// Spinning costs a core; 4000 pauses are about 60 us here, longer than the gap between two kernels of a training step.
constexpr int kSpins = 4000;
constexpr int kYields = 50;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Returns once `word` differs from `old`.
std::uint64_t wait_for_change(const std::atomic<std::uint64_t>& word, std::uint64_t old) {
  for (int spin = 0; spin < kSpins + kYields; ++spin) {
    const std::uint64_t value = word.load(std::memory_order_acquire);
    if (value != old) return value;
    if (spin < kSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

void pin(pthread_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // A failure (a shrunken cpuset) costs speed, not correctness.
  static_cast<void>(pthread_setaffinity_np(thread, sizeof(set), &set));
}

// The tiles a worker has left, [begin, end) in one word so that owner and thieves agree: begin in the low half.
struct alignas(64) Share {
  std::atomic<std::uint64_t> range{0};

  static std::uint64_t pack(std::uint64_t begin, std::uint64_t end) { return end << 32 | begin; }

  bool take(bool from_front, std::int64_t& tile) {
    std::uint64_t seen = range.load(std::memory_order_relaxed);
    while (true) {
      const std::uint64_t begin = seen & 0xFFFFFFFF, end = seen >> 32;
      if (begin >= end) return false;
      const std::uint64_t left = from_front ? pack(begin + 1, end) : pack(begin, end - 1);
      if (range.compare_exchange_weak(seen, left, std::memory_order_acq_rel)) {
        tile = static_cast<std::int64_t>(from_front ? begin : end - 1);
        return true;
      }
    }
  }
};

}  // namespace

struct ThreadPool::State {
  explicit State(std::size_t workers) : shares(workers) {}

  std::vector<Share> shares;
  std::vector<std::thread> threads;
  TileFunction function = nullptr;
  void* context = nullptr;
  const std::function<void()>* everywhere = nullptr;
  alignas(64) std::atomic<std::uint64_t> region{0};   // counts regions; changes when one starts
  alignas(64) std::atomic<std::uint64_t> running{0};  // workers other than the caller still in the region
  std::atomic<bool> stop{false};
  std::mutex error_mutex;
  std::exception_ptr error;
  cpu_set_t caller_affinity{};
  pthread_t caller{};
  bool pinned = false;

  void keep_error() {
    const std::lock_guard lock(error_mutex);
    if (!error) error = std::current_exception();
  }

  void work(std::size_t worker) {
    try {
      if (everywhere != nullptr) return (*everywhere)();
      std::int64_t tile = 0;
      while (shares[worker].take(true, tile)) function(context, tile);
      for (std::size_t other = 1; other < shares.size(); ++other) {
        Share& victim = shares[(worker + other) % shares.size()];
        while (victim.take(false, tile)) function(context, tile);
      }
    } catch (...) {
      keep_error();
    }
  }

  void serve(std::size_t worker) {
    std::uint64_t seen = 0;
    while (true) {
      seen = wait_for_change(region, seen);
      if (stop.load(std::memory_order_acquire)) return;
      work(worker);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }

  void run_region() {
    running.store(threads.size(), std::memory_order_relaxed);
    region.fetch_add(1, std::memory_order_acq_rel);
    region.notify_all();
    work(0);
    for (std::uint64_t left = running.load(std::memory_order_acquire); left != 0;) {
      left = wait_for_change(running, left);
    }
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>(static_cast<std::size_t>(std::max(threads, 1)))) {
  HEADWAY_CHECK(threads >= 1, "a pool needs at least one thread");
  const std::vector<int> cpus = allowed_cpus();
  state_->caller = pthread_self();
  state_->pinned = static_cast<std::size_t>(threads) <= cpus.size();
  for (std::size_t worker = 1; worker < static_cast<std::size_t>(threads); ++worker) {
    state_->threads.emplace_back([state = state_.get(), worker] { state->serve(worker); });
    if (state_->pinned) pin(state_->threads.back().native_handle(), cpus[worker]);
  }
  if (state_->pinned) {
    pthread_getaffinity_np(state_->caller, sizeof(cpu_set_t), &state_->caller_affinity);
    pin(state_->caller, cpus[0]);
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_release);
  state_->region.fetch_add(1, std::memory_order_acq_rel);
  state_->region.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
  if (state_->pinned) pthread_setaffinity_np(state_->caller, sizeof(cpu_set_t), &state_->caller_affinity);
}

int ThreadPool::threads() const {
  return static_cast<int>(state_->shares.size());
}

void ThreadPool::run(std::int64_t tiles, TileFunction function, void* context) {
  if (tiles <= 0) return;
  const auto workers = static_cast<std::int64_t>(state_->shares.size());
  if (workers == 1 || tiles == 1) {
    for (std::int64_t tile = 0; tile < tiles; ++tile) function(context, tile);
    return;
  }
  HEADWAY_CHECK(tiles < (std::int64_t{1} << 32), "too many tiles");
  state_->everywhere = nullptr;
  state_->function = function;
  state_->context = context;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const auto begin = static_cast<std::uint64_t>(tiles * worker / workers);
    const auto end = static_cast<std::uint64_t>(tiles * (worker + 1) / workers);
    state_->shares[static_cast<std::size_t>(worker)].range.store(Share::pack(begin, end), std::memory_order_relaxed);
  }
  state_->run_region();
}

void ThreadPool::on_every_worker(const std::function<void()>& body) {
  state_->everywhere = &body;
  state_->run_region();
  state_->everywhere = nullptr;
}

std::vector<int> cpus_beside_pool(int threads) {
  std::vector<int> cpus = allowed_cpus();
  const std::size_t taken = static_cast<std::size_t>(threads) < cpus.size() ? static_cast<std::size_t>(threads) : 1;
  if (cpus.size() > 1) cpus.erase(cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(taken));
  return cpus;
}

}  // namespace headway
