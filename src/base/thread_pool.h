// The one pool of threads of a process (or of a rank): pinned, with the caller as one of the workers.
//
// A parallel region runs tiles 0..n-1. Each worker owns a contiguous share and takes from its front; a worker that is
// done takes from the back of others' shares. Which worker runs a tile changes from run to run; what a tile computes
// must not depend on it. Waiting spins briefly, then yields, then sleeps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace headway {

class ThreadPool {
 public:
  // `threads` workers including the caller, pinned to the allowed CPUs in order when there are enough of them;
  // the calling thread is pinned too (undone by the destructor). threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body(tile) once for every tile in [0, tiles) and returns when all are done. The first exception of a tile is
  // rethrown here after the region ended. One region at a time: only the thread that made the pool may call.
  template <class Body>
  void parallel(std::int64_t tiles, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run(
        tiles, [](void* context, std::int64_t tile) { (*static_cast<Plain*>(context))(tile); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

  // Calls body() once on every worker, the caller included.
  void on_every_worker(const std::function<void()>& body);

 private:
  using TileFunction = void (*)(void* context, std::int64_t tile);
  void run(std::int64_t tiles, TileFunction function, void* context);

  struct State;
  std::unique_ptr<State> state_;
};

// The CPUs for a thread that works beside a pool of so many threads: those that the pool leaves free; where it leaves
// none, all but that of the pool's caller, who goes on to the next step while others can take over each other's tiles.
std::vector<int> cpus_beside_pool(int threads);

}  // namespace headway
