#include "bench/workloads.h"

#include <array>

#include "base/error.h"
#include "data/random_samples.h"

namespace headway::bench {

std::span<const Workload> standard_workloads() {
  static constexpr std::array kWorkloads = {
      Workload{"mlp", "130 features, 3 x [linear 512, LayerNorm, GELU], 4096 rows",
               "model: {name: mlp}\ndata: {source: synthetic, batch: 4096, rows: 1000000}\n", 595969},
      Workload{"mlp_small", "the same with width 128, 256 rows",
               "model: {name: mlp, width: 128}\ndata: {source: synthetic, batch: 256, rows: 1000000}\n", 50689},
      Workload{"gpt", "byte-level transformer, 6 layers, d 384, 8 x 256 tokens",
               "model: {name: gpt}\ndata: {source: kjv, batch: 8}\n", 10942464},
      Workload{"gpt2", "GPT-2 of 124 M parameters, 12 layers, d 768, tied head, 4 x 64 tokens",
               "model: {name: gpt, layers: 12, hidden: 768, heads: 12, sequence: 64, positions: 1024, vocab: 50257, "
               "tied: true}\ndata: {source: kjv, batch: 4}\n",
               124439808},
      Workload{"moe", "gpt with 8 experts, 2 a token, in layers 2, 4 and 6, 8 x 256 tokens",
               "model: {name: moe}\ndata: {source: kjv, batch: 8}\n", 35764608},
      Workload{"xs_transformer", "4 layers with full attention over 1000 instruments, d 256, 1 day",
               "model: {name: xs_transformer}\ndata: {source: xs_sim, batch: 1, rows: 2000}\n", 3176449},
      Workload{"convnet", "three convolutions over 28 x 28 images, 128 images",
               "model: {name: convnet}\ndata: {source: fashion_mnist, batch: 128, valid: test}\n", 458570},
      Workload{"lstm", "60 steps of 20 features, 2 LSTM layers of 64, 800 windows",
               "model: {name: lstm}\ndata: {source: series_sim, batch: 800, rows: 100000, horizon: 1, label: return}\n",
               55361},
      Workload{"deeplob", "DeepLOB over 100 rows of a limit order book, 64 windows",
               "model: {name: deeplob}\ndata: {source: lob_sim, batch: 64, rows: 100000, horizon: 10}\n", 143907},
      Workload{"tcn", "6 causal dilated convolutions of 64 channels over 256 steps, 128 windows",
               "model: {name: tcn}\ndata: {source: series_sim, batch: 128, rows: 100000, horizon: 1, label: return}\n",
               69569},
  };
  return kWorkloads;
}

std::optional<record::Run> workload_run(const std::string& name, const std::vector<std::string>& overrides) {
  for (const Workload& workload : standard_workloads()) {
    if (workload.name == name) return record::parse_run(workload.run_yaml, name, overrides);
  }
  return std::nullopt;
}

std::unique_ptr<data::Dataset> random_dataset(const models::Model& model, std::int64_t batch) {
  const auto per_sample = [&](const char* name) {
    const Shape& shape = model.graph.value(model.graph.find(name)).type.shape;
    return Shape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
  };
  const std::int64_t samples = std::max<std::int64_t>(batch, 1 << 20);
  if (model.sample.vocab > 0) return data::random_tokens(model.sample.sequence, model.sample.vocab, samples);
  if (model.sample.classes > 0) return data::random_images(per_sample("input"), model.sample.classes, samples);
  return data::random_regression(per_sample("input"), per_sample("target"), samples);
}

}  // namespace headway::bench
