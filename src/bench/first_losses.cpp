#include "bench/first_losses.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runtime/checkpoint.h"
#include "runtime/safetensors.h"

namespace headway::bench {
namespace {

constexpr std::int64_t kBatches = 4;  // different ones: enough to see a wrong order, few enough for a small file

data::Batch copy_of(const data::Batch& batch) {
  data::Batch copy;
  copy.position = batch.position;
  for (std::size_t field = 0; field < batch.arrays.size(); ++field) {
    const std::span<const std::byte> from = batch.field(field);
    data::Batch::Array array;
    array.size = batch.arrays[field].size;
    array.bytes.reset(static_cast<std::byte*>(std::aligned_alloc(64, (from.size() + 64) / 64 * 64)));
    HEADWAY_CHECK(array.bytes != nullptr, "no memory for a batch");
    std::copy(from.begin(), from.end(), array.bytes.get());
    copy.arrays.push_back(std::move(array));
  }
  return copy;
}

void write_batches(const std::filesystem::path& path, const std::vector<data::Batch>& batches,
                   const data::Dataset& dataset, std::int64_t batch) {
  std::vector<runtime::TensorView> tensors;
  for (std::size_t index = 0; index < batches.size(); ++index) {
    for (std::size_t field = 0; field < dataset.fields().size(); ++field) {
      const data::Field& what = dataset.fields()[field];
      std::vector<std::int64_t> dims = {batch};
      dims.insert(dims.end(), what.shape.dims().begin(), what.shape.dims().end());
      tensors.push_back({fmt::format("{}.{}", what.name, index), what.dtype, Shape(dims), batches[index].field(field)});
    }
  }
  runtime::write_safetensors(path, tensors);
}

}  // namespace

std::vector<double> first_losses(runtime::TrainingSession& session, const data::Dataset& dataset, std::int64_t batch,
                                 std::int64_t steps, double learning_rate, const std::filesystem::path& folder) {
  const data::Sampler sampler(1, dataset.size(), true);
  data::Loader loader(dataset, sampler, {.batch = batch, .depth = 0});
  std::vector<data::Batch> batches;
  for (std::int64_t index = 0; index < kBatches; ++index) batches.push_back(copy_of(loader.next()));
  runtime::save_parameters(folder / "parameters.safetensors", session.executor());
  write_batches(folder / "batches.safetensors", batches, dataset, batch);
  std::vector<double> losses;
  for (std::int64_t step = 0; step < steps; ++step) {
    losses.push_back(session.step(batches[static_cast<std::size_t>(step % kBatches)], step, learning_rate).loss);
  }
  return losses;
}

double largest_relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  HEADWAY_CHECK(a.size() == b.size(), fmt::format("{} losses beside {}", a.size(), b.size()));
  double worst = 0;
  for (std::size_t index = 0; index < a.size(); ++index) {
    const double difference = std::abs(a[index] - b[index]) / std::abs(b[index]);
    if (!(difference <= worst)) worst = difference;  // NaN wins
  }
  return worst;
}

bool losses_agree(const std::vector<double>& ours, const std::vector<double>& theirs,
                  const std::vector<double>& exact) {
  constexpr double kEqual = 1e-3;    // the bound of the tests for AdamW in f32
  constexpr double kAmplified = 10;  // what a step or two make of a difference once it grows
  HEADWAY_CHECK(ours.size() == theirs.size() && ours.size() == exact.size(),
                fmt::format("{}, {} and {} losses", ours.size(), theirs.size(), exact.size()));
  double rounding = 0;
  for (std::size_t step = 0; step < ours.size(); ++step) {
    const double scale = std::abs(exact[step]);
    rounding = std::max(rounding, std::abs(theirs[step] - exact[step]) / scale);
    const double difference = std::abs(ours[step] - theirs[step]) / scale,
                 error = std::abs(ours[step] - exact[step]) / scale;
    if (!(difference <= kEqual) && !(error <= kAmplified * rounding)) return false;
    if (!std::isfinite(difference) || !std::isfinite(error)) return false;
  }
  return true;
}

}  // namespace headway::bench
