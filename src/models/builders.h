// The builders behind model.cpp's list, one file each.
#pragma once

#include "models/model.h"

namespace headway::models {

// mlp.cpp. Options features (130), width (512), layers (3).
Model build_mlp(const record::ModelConfig& config, std::int64_t batch, bool training);
// convnet.cpp. Options image (28), channels (1), conv1 (32), conv2 (64), conv3 (64), hidden (128), classes (10).
Model build_convnet(const record::ModelConfig& config, std::int64_t batch, bool training);
// gpt.cpp. Options layers (6), hidden (384), heads (6), sequence (256), vocab (256), dropout (0).
Model build_gpt(const record::ModelConfig& config, std::int64_t batch, bool training);

// lstm.cpp. Options steps (60), features (20), hidden (64), layers (2), cell (lstm; or gru).
Model build_lstm(const record::ModelConfig& config, std::int64_t batch, bool training);

}  // namespace headway::models
