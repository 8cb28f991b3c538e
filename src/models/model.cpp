#include "models/model.h"

#include <fmt/core.h>

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "models/builders.h"

namespace headway::models {

std::span<const ModelRow> all_models() {
  static constexpr std::array kModels = {
      ModelRow{"mlp", "tabular rows through linear, LayerNorm, GELU layers to one value", build_mlp},
      ModelRow{"convnet", "three convolutions and two linear layers over small images", build_convnet},
      ModelRow{"resnet", "bottleneck blocks with BatchNorm over images, ResNet-50 by default", build_resnet},
      ModelRow{"deeplob", "convolutions, an inception module and an LSTM over windows of an order book", build_deeplob},
      ModelRow{"tcn", "causal dilated convolutions over steps, one value at every step", build_tcn},
      ModelRow{"lstm", "LSTM or GRU layers over windows of features, the last step to one value", build_lstm},
      ModelRow{"gpt", "a pre-norm transformer over tokens, learned positions, head tied or not", build_gpt},
      ModelRow{"moe", "gpt with mixtures of experts in every second layer", build_moe},
      ModelRow{"bert", "a post-norm encoder over tokens, full attention, a tied head for every token", build_bert},
      ModelRow{"llama", "a pre-norm decoder over tokens: RMSNorm, rotary positions, grouped heads, SwiGLU",
               build_llama},
      ModelRow{"xs_transformer", "a pre-norm transformer over the instruments of a day, full attention",
               build_xs_transformer},
  };
  return kModels;
}

Model build_model(const record::ModelConfig& config, std::int64_t batch, bool training) {
  std::vector<std::string> names;
  for (const ModelRow& row : all_models()) {
    if (row.name == config.name) return row.build(config, batch, training);
    names.emplace_back(row.name);
  }
  throw record::input_error(config.where, "model.name",
                            fmt::format("unknown model '{}'{}", config.name, suggestion(config.name, names)));
}

std::int64_t parameter_count(const graph::Graph& graph) {
  std::int64_t count = 0;
  for (const graph::Parameter& parameter : graph.parameters()) {
    if (parameter.trained) count += graph.value(parameter.value).type.shape.elements();
  }
  return count;
}

}  // namespace headway::models
