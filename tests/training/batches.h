// Small models and their data for tests of whole training runs.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"
#include "record/run.h"
#include "runtime/safetensors.h"
#include "runtime/session.h"

namespace headway::tests {

// A model section with options, as a run file would have it.
record::ModelConfig model_config(const std::string& name,
                                 const std::vector<std::pair<std::string, std::string>>& options);

runtime::ForwardBuilder builder(const record::ModelConfig& config);

// One batch in memory out of two arrays.
data::Batch make_batch(std::vector<std::byte> input, std::vector<std::byte> target);

// Batches "input.K", "target.K" of a safetensors file; 64-bit integers become i32, as our graphs take them. `count`
// consecutive batches from `first` on (modulo their number) are joined along the batch axis.
data::Batch reference_batch(const runtime::SafetensorsFile& file, std::int64_t first, std::int64_t count);
std::int64_t reference_batches(const runtime::SafetensorsFile& file);

// A dataset of random samples of the shapes that the model takes.
class SmallDataset : public data::Dataset {
 public:
  SmallDataset(std::vector<data::Field> fields, std::int64_t size, std::int64_t limit)
      : fields_(std::move(fields)), size_(size), limit_(limit) {}
  std::int64_t size() const override { return size_; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> at) const override;
  std::string description() const override { return "random samples"; }

 private:
  std::vector<data::Field> fields_;
  std::int64_t size_;
  std::int64_t limit_;  // integers are in [0, limit)
};

// The models, small, each with a dataset of `samples` samples.
struct SmallModel {
  std::string name;
  record::ModelConfig config;
  std::shared_ptr<SmallDataset> dataset;  // shared: test parameters are copied

  friend void PrintTo(const SmallModel& model, std::ostream* out) { *out << model.name; }
};
std::vector<SmallModel> small_models(std::int64_t samples);

}  // namespace headway::tests
