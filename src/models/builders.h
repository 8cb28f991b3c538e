// The builders behind model.cpp's list, one file each.
#pragma once

#include "models/model.h"

namespace headway::models {

// mlp.cpp. Options features (130), width (512), layers (3).
Model build_mlp(const record::ModelConfig& config, std::int64_t batch, bool training);
// convnet.cpp. Options image (28), channels (1), conv1 (32), conv2 (64), conv3 (64), hidden (128), classes (10).
Model build_convnet(const record::ModelConfig& config, std::int64_t batch, bool training);
// tcn.cpp. Options features (40), sequence (256), width (64), layers (6), kernel (3).
Model build_tcn(const record::ModelConfig& config, std::int64_t batch, bool training);
// deeplob.cpp. Options sequence (100), channels (32), inception (64), hidden (64), classes (3).
Model build_deeplob(const record::ModelConfig& config, std::int64_t batch, bool training);
// resnet.cpp. Options image (224), channels (3), width (64), blocks1 (3), blocks2 (4), blocks3 (6), blocks4 (3),
// classes (1000).
Model build_resnet(const record::ModelConfig& config, std::int64_t batch, bool training);
// gpt.cpp. Options layers (6), hidden (384), heads (6), sequence (256), positions (sequence), vocab (256), tied
// (false), dropout (0). The table of positions may be longer than the sequence; a tied head multiplies by the token
// embedding.
Model build_gpt(const record::ModelConfig& config, std::int64_t batch, bool training);
// gpt.cpp: gpt where every second layer has a mixture of experts, of the same width each. Options of gpt, and experts
// (8), choices (2) of a token, capacity_factor (1.25), balance (0.01): the weight of the load-balancing loss, which
// only training adds to the loss. An output "dropped" is the share of choices that found an expert full.
Model build_moe(const record::ModelConfig& config, std::int64_t batch, bool training);
// bert.cpp. Options layers (12), hidden (768), heads (12), sequence (128), positions (512), vocab (30522), dropout (0).
Model build_bert(const record::ModelConfig& config, std::int64_t batch, bool training);
// llama.cpp. Options layers (16), hidden (2048), heads (32), kv_heads (8, or heads where 8 does not divide
// them), feed_forward (2/3 of 4 hidden, rounded up to 256), sequence (256), vocab (32000), theta (10000) of the rotary
// positions, tied (false).
Model build_llama(const record::ModelConfig& config, std::int64_t batch, bool training);
// xs_transformer.cpp. Options instruments (1000), features (64), layers (4), hidden (256), heads (4), dropout (0).
Model build_xs_transformer(const record::ModelConfig& config, std::int64_t batch, bool training);

// lstm.cpp. Options steps (60), features (20), hidden (64), layers (2), cell (lstm; or gru).
Model build_lstm(const record::ModelConfig& config, std::int64_t batch, bool training);

}  // namespace headway::models
