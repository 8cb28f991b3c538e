#include "data/loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "base/error.h"

namespace headway::data {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

Batch::Array allocate(std::int64_t bytes) {
  const std::size_t padded = (static_cast<std::size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded));
  if (memory == nullptr) throw std::bad_alloc();
  return {.bytes = std::unique_ptr<std::byte[], Batch::Free>(memory), .size = bytes};
}

LoaderOptions checked(LoaderOptions options, const Dataset& dataset, const Sampler& sampler) {
  if (dataset.size() < 1) throw UserError(fmt::format("the data set is empty: {}", dataset.description()));
  if (options.batch < 1) throw UserError(fmt::format("the batch must be at least 1: {}", options.batch));
  if (options.depth < 0) throw UserError(fmt::format("the prefetch depth cannot be negative: {}", options.depth));
  if (options.batch > dataset.size()) {
    throw UserError(fmt::format("a batch of {} is larger than the data set of {} samples ({}); use a smaller batch",
                                options.batch, dataset.size(), dataset.description()));
  }
  HEADWAY_CHECK(sampler.samples() == dataset.size(), fmt::format("{} and {}", sampler.samples(), dataset.size()));
  HEADWAY_CHECK(options.start_position >= 0 && options.stride >= 0,
                fmt::format("start {}, stride {}", options.start_position, options.stride));
  if (options.stride == 0) options.stride = options.batch;
  return options;
}

// A new thread inherits the affinity of its maker, which for a pinned compute thread is one busy core.
void run_on(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  if (const int code = pthread_setaffinity_np(pthread_self(), sizeof(set), &set); code != 0) {
    throw EnvironmentError(
        fmt::format("cannot run the data loader on cpus {}: {}", fmt::join(cpus, ", "), std::strerror(code)));
  }
}

}  // namespace

Loader::Loader(const Dataset& dataset, const Sampler& sampler, LoaderOptions options)
    : dataset_(dataset), sampler_(sampler), options_(checked(std::move(options), dataset, sampler)) {
  indices_.resize(static_cast<std::size_t>(options_.batch));
  ring_.resize(static_cast<std::size_t>(options_.depth + 1));
  for (Batch& batch : ring_) {
    for (const Field& field : dataset_.fields()) batch.arrays.push_back(allocate(options_.batch * bytes_of(field)));
  }
  if (options_.depth > 0) thread_ = std::thread([this] { produce(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const Batch& Loader::next() {
  const Seconds start = now();
  try {
    options_.depth > 0 ? wait_for(taken_) : assemble(taken_);
  } catch (...) {
    waited_ += now() - start;
    throw;
  }
  waited_ += now() - start;
  return slot(taken_++);
}

void Loader::wait_for(std::int64_t number) {
  std::unique_lock lock(mutex_);
  released_ = number;  // all before this one, the last returned among them
  // Waking the thread costs more than many a batch, so it is woken to make several.
  const std::int64_t ready = made_ - number - 1;
  if (ready < (options_.depth + 1) / 2) changed_.notify_all();
  changed_.wait(lock, [&] { return made_ > number || failure_; });
  if (made_ <= number) std::rethrow_exception(failure_);
}

// On the loader's thread (or the caller's, for depth 0). A stop between two samples leaves the batch unfinished.
void Loader::assemble(std::int64_t number) {
  Batch& batch = slot(number);
  batch.position = position_of(number);
  std::vector<std::byte*> at;
  std::vector<std::int64_t> sample_bytes;
  for (const Batch::Array& array : batch.arrays) {
    at.push_back(array.bytes.get());
    sample_bytes.push_back(array.size / options_.batch);
  }
  sampler_.indices(batch.position, indices_);
  for (std::size_t sample = 0; sample < indices_.size() && !stop_.load(std::memory_order_relaxed); ++sample) {
    dataset_.read_then(indices_[sample], indices_[std::min(sample + 1, indices_.size() - 1)], at);
    for (std::size_t field = 0; field < at.size(); ++field) at[field] += sample_bytes[field];
  }
}

void Loader::produce() {
  try {
    run_on(options_.cpus);
    for (std::int64_t number = 0;; ++number) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || number - released_ < static_cast<std::int64_t>(ring_.size()); });
        if (stop_) return;
      }
      assemble(number);
      {
        const std::lock_guard lock(mutex_);
        made_ = number + 1;
      }
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace headway::data
