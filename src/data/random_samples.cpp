#include "data/random_samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/rng.h"

namespace headway::data {
namespace {

constexpr std::int64_t kMostDistinct = 256;
constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
constexpr std::uint32_t kNormalStream = 0x52534E4F;   // "RSNO"; the field's number is the step
constexpr std::uint32_t kIntegerStream = 0x5253494E;  // "RSIN"

std::int64_t bytes_of_sample(const std::vector<Field>& fields) {
  std::int64_t bytes = 0;
  for (const Field& field : fields) bytes += bytes_of(field);
  return bytes;
}

void fill_normal(std::uint64_t seed, std::uint64_t sample, std::uint32_t number, const Field& field, std::byte* at) {
  const std::int64_t count = field.shape.elements();
  const std::uint64_t first = sample * static_cast<std::uint64_t>(count);
  for (std::int64_t element = 0; element < count; ++element) {
    const float value = random_normal(seed, kNormalStream, number, first + static_cast<std::uint64_t>(element));
    std::memcpy(at + element * static_cast<std::int64_t>(sizeof(value)), &value, sizeof(value));
  }
}

std::int32_t integer(std::uint64_t seed, std::uint64_t index, std::int64_t limit) {
  const std::uint64_t bits = random_bits(seed, kIntegerStream, 0, index);
  return static_cast<std::int32_t>(bits * static_cast<std::uint64_t>(limit) >> 32);
}

void fill_image(std::uint64_t seed, std::uint64_t sample, const std::vector<Field>& fields, std::int64_t classes,
                std::span<std::byte* const> at) {
  fill_normal(seed, sample, 0, fields[0], at[0]);
  const std::int32_t label = integer(seed, sample, classes);
  std::memcpy(at[1], &label, sizeof(label));
}

void fill_tokens(std::uint64_t seed, std::uint64_t sample, const std::vector<Field>& fields, std::int64_t vocab,
                 std::span<std::byte* const> at) {
  const std::int64_t sequence = fields[0].shape.elements();
  std::vector<std::int32_t> tokens;
  for (std::int64_t token = 0; token <= sequence; ++token) {
    tokens.push_back(
        integer(seed, sample * static_cast<std::uint64_t>(sequence + 1) + static_cast<std::uint64_t>(token), vocab));
  }
  const auto bytes = static_cast<std::size_t>(bytes_of(fields[0]));
  std::memcpy(at[0], tokens.data(), bytes);
  std::memcpy(at[1], tokens.data() + 1, bytes);
}

void fill_regression(std::uint64_t seed, std::uint64_t sample, const std::vector<Field>& fields, std::int64_t,
                     std::span<std::byte* const> at) {
  for (std::uint32_t number = 0; number < 2; ++number) fill_normal(seed, sample, number, fields[number], at[number]);
}

}  // namespace

RandomSamples::RandomSamples(std::vector<Field> fields, std::int64_t size, std::uint64_t seed, std::int64_t limit,
                             Fill fill)
    : fields_(std::move(fields)), size_(size) {
  HEADWAY_CHECK(size >= 1 && limit >= 1 && limit <= std::int64_t{1} << 31, fmt::format("{} {}", size, limit));
  const std::int64_t fitting = kMostBytes / std::max<std::int64_t>(1, bytes_of_sample(fields_));
  distinct_ = std::clamp<std::int64_t>(fitting, 1, std::min(kMostDistinct, size));
  for (const Field& field : fields_) stored_.emplace_back(static_cast<std::size_t>(distinct_ * bytes_of(field)));
  for (std::int64_t sample = 0; sample < distinct_; ++sample) {
    fill(seed, static_cast<std::uint64_t>(sample), fields_, limit, pointers(sample));
  }
}

std::vector<std::byte*> RandomSamples::pointers(std::int64_t sample) {
  std::vector<std::byte*> at;
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    at.push_back(stored_[field].data() + sample * bytes_of(fields_[field]));
  }
  return at;
}

void RandomSamples::read(std::int64_t index, std::span<std::byte* const> fields) const {
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const std::int64_t bytes = bytes_of(fields_[field]);
    std::memcpy(fields[field], stored_[field].data() + index % distinct_ * bytes, static_cast<std::size_t>(bytes));
  }
}

std::string RandomSamples::description() const {
  return fmt::format("random: {} samples, {} of them distinct, {} {} to {} {}", size_, distinct_,
                     name_of(fields_[0].dtype), to_string(fields_[0].shape), name_of(fields_[1].dtype),
                     to_string(fields_[1].shape));
}

std::unique_ptr<RandomSamples> random_images(const Shape& shape, std::int64_t classes, std::int64_t size,
                                             std::uint64_t seed) {
  return std::make_unique<RandomSamples>(input_and_target(DType::kF32, shape, DType::kI32, Shape{}), size, seed,
                                         classes, fill_image);
}

std::unique_ptr<RandomSamples> random_tokens(std::int64_t sequence, std::int64_t vocab, std::int64_t size,
                                             std::uint64_t seed) {
  return std::make_unique<RandomSamples>(input_and_target(DType::kI32, Shape{sequence}, DType::kI32, Shape{sequence}),
                                         size, seed, vocab, fill_tokens);
}

std::unique_ptr<RandomSamples> random_regression(const Shape& input, const Shape& target, std::int64_t size,
                                                 std::uint64_t seed) {
  return std::make_unique<RandomSamples>(input_and_target(DType::kF32, input, DType::kF32, target), size, seed, 1,
                                         fill_regression);
}

}  // namespace headway::data
