#include "tests/training/batches.h"

#include <cstring>

#include "base/error.h"
#include "base/rng.h"
#include "models/model.h"

namespace headway::tests {
namespace {

data::Batch::Array make_array(std::span<const std::byte> bytes) {
  data::Batch::Array array;
  array.size = static_cast<std::int64_t>(bytes.size());
  const std::size_t rounded = (bytes.size() + 63) / 64 * 64 + 64;
  array.bytes.reset(static_cast<std::byte*>(std::aligned_alloc(64, rounded)));
  std::memcpy(array.bytes.get(), bytes.data(), bytes.size());
  return array;
}

void append(std::vector<std::byte>& out, const runtime::TensorView& tensor) {
  if (tensor.dtype != DType::kI64) {
    out.insert(out.end(), tensor.bytes.begin(), tensor.bytes.end());
    return;
  }
  for (std::int64_t index = 0; index < tensor.shape.elements(); ++index) {
    std::int64_t wide = 0;
    std::memcpy(&wide, tensor.bytes.data() + index * 8, sizeof(wide));
    const auto narrow = static_cast<std::int32_t>(wide);
    const auto* bytes = reinterpret_cast<const std::byte*>(&narrow);
    out.insert(out.end(), bytes, bytes + sizeof(narrow));
  }
}

}  // namespace

record::ModelConfig model_config(const std::string& name,
                                 const std::vector<std::pair<std::string, std::string>>& options) {
  record::ModelConfig config;
  config.name = name;
  for (const auto& [key, value] : options) config.set(key, value);
  return config;
}

runtime::ForwardBuilder builder(const record::ModelConfig& config) {
  return [config](std::int64_t samples, bool training) { return models::build_model(config, samples, training).graph; };
}

data::Batch make_batch(std::vector<std::byte> input, std::vector<std::byte> target) {
  data::Batch batch;
  batch.arrays.push_back(make_array(input));
  batch.arrays.push_back(make_array(target));
  return batch;
}

std::int64_t reference_batches(const runtime::SafetensorsFile& file) {
  return static_cast<std::int64_t>(file.tensors().size()) / 2;
}

data::Batch reference_batch(const runtime::SafetensorsFile& file, std::int64_t first, std::int64_t count) {
  std::vector<std::byte> input, target;
  for (std::int64_t at = first; at < first + count; ++at) {
    const std::string number = std::to_string(at % reference_batches(file));
    append(input, *file.find("input." + number));
    append(target, *file.find("target." + number));
  }
  return make_batch(std::move(input), std::move(target));
}

void SmallDataset::read(std::int64_t index, std::span<std::byte* const> at) const {
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const std::int64_t elements = fields_[field].shape.elements();
    for (std::int64_t element = 0; element < elements; ++element) {
      const auto counter = static_cast<std::uint64_t>(index * elements + element);
      const auto stream = static_cast<std::uint32_t>(field);
      if (fields_[field].dtype == DType::kI32) {
        const auto value =
            static_cast<std::int32_t>(random_bits(5, stream, 0, counter) % static_cast<std::uint64_t>(limit_));
        std::memcpy(at[field] + element * 4, &value, sizeof(value));
      } else {
        const float value = random_normal(5, stream, 0, counter);
        std::memcpy(at[field] + element * 4, &value, sizeof(value));
      }
    }
  }
}

std::vector<SmallModel> small_models(std::int64_t samples) {
  const auto dataset = [&](DType input, Shape input_shape, DType target, Shape target_shape, std::int64_t limit) {
    return std::make_shared<SmallDataset>(
        data::input_and_target(input, std::move(input_shape), target, std::move(target_shape)), samples, limit);
  };
  return {
      {"mlp", model_config("mlp", {{"features", "13"}, {"width", "24"}, {"layers", "2"}}),
       dataset(DType::kF32, {13}, DType::kF32, {1}, 0)},
      {"convnet",
       model_config("convnet", {{"image", "12"}, {"conv1", "4"}, {"conv2", "8"}, {"conv3", "8"}, {"hidden", "16"}}),
       dataset(DType::kF32, {12, 12, 1}, DType::kI32, {}, 10)},
      {"deeplob",
       model_config("deeplob", {{"sequence", "23"}, {"channels", "6"}, {"inception", "9"}, {"hidden", "10"}}),
       dataset(DType::kF32, {23, 40, 1}, DType::kI32, {}, 3)},
      {"resnet",
       model_config("resnet", {{"image", "50"},
                               {"width", "4"},
                               {"blocks1", "1"},
                               {"blocks2", "1"},
                               {"blocks3", "1"},
                               {"blocks4", "1"},
                               {"classes", "7"}}),
       dataset(DType::kF32, {50, 50, 3}, DType::kI32, {}, 7)},
      {"tcn", model_config("tcn", {{"features", "5"}, {"sequence", "37"}, {"width", "12"}, {"layers", "3"}}),
       dataset(DType::kF32, {37, 5}, DType::kF32, {37, 1}, 0)},
      {"gpt",
       model_config("gpt", {{"layers", "2"},
                            {"hidden", "32"},
                            {"heads", "4"},
                            {"sequence", "19"},
                            {"vocab", "40"},
                            {"dropout", "0.1"}}),
       dataset(DType::kI32, {19}, DType::kI32, {19}, 40)},
      {"lstm", model_config("lstm", {{"steps", "5"}, {"features", "3"}, {"hidden", "10"}}),
       dataset(DType::kF32, {5, 3}, DType::kF32, {1}, 0)},
      {"gpt_tied",
       model_config("gpt", {{"layers", "1"},
                            {"hidden", "32"},
                            {"heads", "2"},
                            {"sequence", "19"},
                            {"positions", "24"},
                            {"vocab", "40"},
                            {"tied", "true"}}),
       dataset(DType::kI32, {19}, DType::kI32, {19}, 40)},
      {"moe",
       model_config("moe", {{"layers", "2"},
                            {"hidden", "32"},
                            {"heads", "2"},
                            {"sequence", "19"},
                            {"vocab", "40"},
                            {"experts", "5"},
                            {"capacity_factor", "0.9"}}),
       dataset(DType::kI32, {19}, DType::kI32, {19}, 40)},
      {"xs_transformer",
       model_config("xs_transformer", {{"instruments", "70"}, {"features", "9"}, {"layers", "2"}, {"hidden", "32"}}),
       dataset(DType::kF32, {70, 9}, DType::kF32, {70, 1}, 0)},
  };
}

}  // namespace headway::tests
