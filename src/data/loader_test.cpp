#include "data/loader.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

// Sample i is {i, i + 0.5, i + 0.25} and -i.
class Counting : public Dataset {
 public:
  explicit Counting(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override {
    const auto value = static_cast<float>(index);
    const std::array<float, 3> input = {value, value + 0.5F, value + 0.25F};
    const std::int32_t target = -static_cast<std::int32_t>(index);
    std::memcpy(fields[0], input.data(), sizeof(input));
    std::memcpy(fields[1], &target, sizeof(target));
  }
  std::string description() const override { return "counting"; }

 private:
  std::int64_t size_;
  std::vector<Field> fields_ = input_and_target(DType::kF32, Shape{3}, DType::kI32, Shape{});
};

class Failing : public Counting {
 public:
  Failing(std::int64_t size, std::int64_t bad) : Counting(size), bad_(bad) {}
  void read(std::int64_t index, std::span<std::byte* const> fields) const override {
    if (index == bad_) throw UserError("sample " + std::to_string(index) + " is corrupt");
    Counting::read(index, fields);
  }

 private:
  std::int64_t bad_;
};

// Takes a while, and tells on which cpus the reading thread may run.
class Slow : public Counting {
 public:
  using Counting::Counting;
  void read(std::int64_t index, std::span<std::byte* const> fields) const override {
    Counting::read(index, fields);
    cpu_set_t set;
    pthread_getaffinity_np(pthread_self(), sizeof(set), &set);
    cpus = CPU_COUNT(&set);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  mutable std::atomic<int> cpus = 0;
};

std::vector<std::int32_t> targets(const Batch& batch) {
  const std::span<const std::byte> bytes = batch.field(1);
  std::vector<std::int32_t> values(bytes.size() / sizeof(std::int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<std::int32_t> expected(const Sampler& sampler, std::int64_t position, std::int64_t batch) {
  std::vector<std::int32_t> values;
  for (std::int64_t at = position; at < position + batch; ++at) {
    values.push_back(-static_cast<std::int32_t>(sampler.index(at)));
  }
  return values;
}

TEST(Loader, GivesTheSamplersOrderAtAnyDepth) {
  const Counting dataset(23);
  const Sampler sampler(3, 23, true);
  for (const std::int64_t depth : {0, 1, 2, 5}) {
    Loader loader(dataset, sampler, {.batch = 5, .depth = depth});
    for (std::int64_t number = 0; number < 40; ++number) {  // over eight epochs, straddling each end
      EXPECT_EQ(loader.position(), number * 5);
      const Batch& batch = loader.next();
      EXPECT_EQ(batch.position, number * 5);
      EXPECT_EQ(targets(batch), expected(sampler, number * 5, 5));
      const auto* input = reinterpret_cast<const float*>(batch.field(0).data());
      for (std::size_t at = 0; at < 5; ++at) {
        EXPECT_EQ(input[3 * at], -static_cast<float>(targets(batch)[at]));
        EXPECT_EQ(input[3 * at + 2], input[3 * at] + 0.25F);
      }
    }
  }
}

TEST(Loader, KeepsABatchUntilTheNextCallAndAlignsIt) {
  const Counting dataset(100);
  const Sampler sampler(3, 100, true);
  Loader loader(dataset, sampler, {.batch = 7, .depth = 1});
  for (std::int64_t number = 0; number < 10; ++number) {
    const Batch& batch = loader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the thread has filled all that it may
    EXPECT_EQ(targets(batch), expected(sampler, number * 7, 7));
    for (const std::size_t field : {0U, 1U}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch.field(field).data()) % 64, 0U);
    }
    EXPECT_EQ(batch.field(0).size(), 7U * 12);
  }
}

TEST(Loader, GoesOnFromAnyPosition) {
  const Counting dataset(23);
  const Sampler sampler(3, 23, true);
  Loader first(dataset, sampler, {.batch = 5});
  for (int number = 0; number < 7; ++number) first.next();
  Loader second(dataset, sampler, {.batch = 5, .start_position = first.position()});
  for (int number = 0; number < 10; ++number) EXPECT_EQ(targets(first.next()), targets(second.next()));
}

// Ranks that each take every n-th batch see together what one rank sees alone.
TEST(Loader, StridesForRanks) {
  const Counting dataset(23);
  const Sampler sampler(3, 23, true);
  Loader whole(dataset, sampler, {.batch = 4});
  std::vector<std::unique_ptr<Loader>> ranks;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(std::make_unique<Loader>(dataset, sampler,
                                             LoaderOptions{.batch = 4, .start_position = 4 * rank, .stride = 12}));
  }
  for (std::size_t number = 0; number < 15; ++number) {
    EXPECT_EQ(targets(ranks[number % 3]->next()), targets(whole.next()));
  }
}

TEST(Loader, RejectsWhatCannotBe) {
  const Counting dataset(23), empty(0);
  const Sampler sampler(3, 23, true);
  const auto open = [&](const Dataset& from, const LoaderOptions& options) {
    return message_of<UserError>([&] { Loader(from, sampler, options); });
  };
  expect_mentions(open(dataset, {.batch = 24}), {"batch of 24", "23 samples"});
  expect_mentions(open(dataset, {.batch = 0}), {"at least 1", "0"});
  expect_mentions(open(dataset, {.batch = 1, .depth = -1}), {"-1"});
  expect_mentions(open(empty, {.batch = 1}), {"empty"});
  EXPECT_EQ(open(dataset, {.batch = 23}), "");
}

TEST(Loader, RethrowsAtTheBatchThatFailedAndAgain) {
  const Failing dataset(100, 17);
  const Sampler sampler(3, 100, false);
  for (const std::int64_t depth : {0, 1, 4}) {
    Loader loader(dataset, sampler, {.batch = 5, .depth = depth});
    for (int number = 0; number < 3; ++number) loader.next();
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(message_of<UserError>([&] { loader.next(); }), "sample 17 is corrupt") << depth;
    }
    EXPECT_EQ(loader.position(), 15);
  }
}

TEST(Loader, LivesShortlyAndOften) {
  const Counting dataset(50);
  const Failing failing(50, 20);
  const Sampler sampler(3, 50, true);
  for (int life = 0; life < 300; ++life) {
    Loader loader(life % 3 == 0 ? static_cast<const Dataset&>(failing) : dataset, sampler,
                  {.batch = 1 + life % 7, .depth = 1 + life % 4});
    try {
      for (int number = 0; number < life % 5; ++number) loader.next();
    } catch (const UserError&) {
      EXPECT_EQ(life % 3, 0);
    }
    if (life % 11 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // full, or failed, when it ends
  }
}

TEST(Loader, EndsInTheMiddleOfALongBatch) {
  const Slow dataset(5000);
  const Sampler sampler(3, 5000, true);
  Seconds start;
  {
    const Loader loader(dataset, sampler, {.batch = 5000});  // 10 s if it were finished
    while (dataset.cpus == 0) std::this_thread::yield();     // in the middle of it
    start = now();
  }
  EXPECT_LT((now() - start).value, 5);
}

TEST(Loader, CountsTheTimeItMakesTheCallerWait) {
  const Slow dataset(100);
  const Sampler sampler(3, 100, true);
  Loader waiting(dataset, sampler, {.batch = 10, .depth = 0});
  EXPECT_EQ(waiting.wait_seconds().value, 0);
  for (int number = 0; number < 3; ++number) waiting.next();
  EXPECT_GE(waiting.wait_seconds().value, 3 * 10 * 0.002);

  const Counting fast(100);
  Loader ready(fast, sampler, {.batch = 10, .depth = 2});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ready.next();
  EXPECT_LT(ready.wait_seconds().value, 0.05);
}

TEST(Loader, RunsItsThreadWhereItIsTold) {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one cpu";
  const Slow dataset(100);
  const Sampler sampler(3, 100, true);
  std::thread([&] {  // pinned, as the compute threads are
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpus[0]), &one);
    ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
    Loader(dataset, sampler, {.batch = 1, .depth = 1}).next();
    EXPECT_EQ(dataset.cpus, 1);
    Loader(dataset, sampler, {.batch = 1, .depth = 1, .cpus = cpus}).next();
    EXPECT_EQ(dataset.cpus, static_cast<int>(cpus.size()));
  })
      .join();
  Loader nowhere(dataset, sampler, {.batch = 1, .cpus = {CPU_SETSIZE - 1}});
  expect_mentions(message_of<EnvironmentError>([&] { nowhere.next(); }), {"cpus 1023", "Invalid"});
}

}  // namespace
}  // namespace headway::data
