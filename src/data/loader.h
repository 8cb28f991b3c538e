// Batches, assembled ahead of the training step.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/units.h"
#include "data/dataset.h"
#include "data/sampler.h"

namespace headway::data {

// The samples at positions [position, position + batch), each field one contiguous array [batch, ...].
struct Batch {
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  struct Array {
    std::unique_ptr<std::byte[], Free> bytes;  // 64-byte aligned
    std::int64_t size = 0;
  };

  std::int64_t position = 0;
  std::vector<Array> arrays;  // in the order of Dataset::fields()

  std::span<const std::byte> field(std::size_t index) const {
    return {arrays[index].bytes.get(), static_cast<std::size_t>(arrays[index].size)};
  }
};

struct LoaderOptions {
  std::int64_t batch = 1;
  std::int64_t depth = 4;           // batches kept ready ahead of the caller; 0: assembled in next(), no thread
  std::int64_t start_position = 0;  // of the first batch
  std::int64_t stride = 0;          // from one batch to the next; 0: batch. A rank of n has n * batch.
  std::vector<int> cpus = {};       // where the thread may run; empty: where the caller may
};

// Batch k holds the samples at start_position + k * stride, whatever the depth. One caller at a time.
class Loader {
 public:
  // The data set must outlive the loader. UserError for an empty data set, or a batch larger than it.
  Loader(const Dataset& dataset, const Sampler& sampler, LoaderOptions options);
  ~Loader();

  // The next batch, valid until the following call. Rethrows what Dataset::read threw for it, and again when called
  // again.
  const Batch& next();

  // Where the batch after the last one returned begins: the start_position of a loader that goes on from here.
  std::int64_t position() const { return position_of(taken_); }

  // Time that the caller has spent in next() so far.
  Seconds wait_seconds() const { return waited_; }

 private:
  std::int64_t position_of(std::int64_t number) const { return options_.start_position + number * options_.stride; }
  Batch& slot(std::int64_t number) { return ring_[static_cast<std::size_t>(number) % ring_.size()]; }
  void assemble(std::int64_t number);
  void produce();
  void wait_for(std::int64_t number);

  const Dataset& dataset_;
  const Sampler sampler_;
  const LoaderOptions options_;
  std::vector<std::int64_t> indices_;  // of the samples of the batch that is assembled
  std::vector<Batch> ring_;            // depth ready ones and the one that the caller holds
  std::int64_t taken_ = 0;             // batches returned by next()
  Seconds waited_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t made_ = 0;      // batches assembled
  std::int64_t released_ = 0;  // batches that the caller is done with
  std::exception_ptr failure_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace headway::data
