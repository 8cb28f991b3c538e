#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/environment.h"

namespace headway {
namespace {

// Fails if a tile is lost or run twice, for more and fewer tiles than workers.
TEST(ThreadPool, RunsEveryTileOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (const std::int64_t tiles : {0, 1, 2, 7, 64, 1001}) {
      std::vector<std::atomic<int>> counts(static_cast<std::size_t>(tiles));
      for (int repeat = 0; repeat < 50; ++repeat) {
        pool.parallel(tiles, [&](std::int64_t tile) { ++counts[static_cast<std::size_t>(tile)]; });
      }
      for (const auto& count : counts) EXPECT_EQ(count.load(), 50);
    }
  }
}

TEST(ThreadPool, RethrowsATilesExceptionAndGoesOn) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.parallel(8,
                             [](std::int64_t tile) {
                               if (tile == 5) throw std::runtime_error("tile 5");
                             }),
               std::runtime_error);
  std::atomic<int> count = 0;
  pool.parallel(8, [&](std::int64_t) { ++count; });
  EXPECT_EQ(count.load(), 8);
}

TEST(ThreadPool, ReachesEveryWorker) {
  ThreadPool pool(3);
  std::atomic<int> count = 0;
  pool.on_every_worker([&] { ++count; });
  EXPECT_EQ(count.load(), 3);
}

// Breaks when the loader may run where the pool's caller is pinned although there is another CPU.
TEST(ThreadPool, LeavesCpusToTheLoader) {
  const std::vector<int> all = allowed_cpus();
  const auto count = static_cast<int>(all.size());
  for (int threads = 1; threads <= count; ++threads) {
    const std::vector<int> beside = cpus_beside_pool(threads);
    const int taken = count == 1 ? 0 : threads < count ? threads : 1;
    EXPECT_EQ(beside, std::vector<int>(all.begin() + taken, all.end())) << threads;
  }
}

}  // namespace
}  // namespace headway
