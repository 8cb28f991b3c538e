// Samples of noise in any shape, for benchmarks: nothing to learn, nothing to wait for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace headway::data {

// A few distinct samples, generated once and repeated: at most 256 of them and about 16 MiB, so that they cost little
// to make and reading one is a copy from memory, as it would be from a real data set's cache.
class RandomSamples : public Dataset {
 public:
  // What one distinct sample holds: called once for each, in order, with the pointers of a read().
  using Fill = void (*)(std::uint64_t seed, std::uint64_t sample, const std::vector<Field>& fields, std::int64_t limit,
                        std::span<std::byte* const> at);

  RandomSamples(std::vector<Field> fields, std::int64_t size, std::uint64_t seed, std::int64_t limit, Fill fill);

  std::int64_t size() const override { return size_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override;
  std::string description() const override;

  std::int64_t distinct() const { return distinct_; }

 private:
  std::vector<std::byte*> pointers(std::int64_t sample);

  std::vector<Field> fields_;
  std::int64_t size_;
  std::int64_t distinct_;
  std::vector<std::vector<std::byte>> stored_;  // per field [distinct, ...]
};

// input f32 `shape`, standard normal; target i32 [], a class in [0, classes).
std::unique_ptr<RandomSamples> random_images(const Shape& shape, std::int64_t classes, std::int64_t size = 1 << 20,
                                             std::uint64_t seed = 1);

// input i32 [sequence], tokens in [0, vocab); target i32 [sequence], the token after each.
std::unique_ptr<RandomSamples> random_tokens(std::int64_t sequence, std::int64_t vocab, std::int64_t size = 1 << 20,
                                             std::uint64_t seed = 1);

// input f32 `input` and target f32 `target`, standard normal.
std::unique_ptr<RandomSamples> random_regression(const Shape& input, const Shape& target, std::int64_t size = 1 << 20,
                                                 std::uint64_t seed = 1);

}  // namespace headway::data
