// The first losses of a workload, with what another program needs to repeat them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/dataset.h"
#include "runtime/session.h"

namespace headway::bench {

// Trains `steps` steps from the session's parameters and returns their losses. Before, writes into `folder`:
// parameters.safetensors under the model's own names, and batches.safetensors with input.K and target.K, whose step s
// uses batch s mod K.
std::vector<double> first_losses(runtime::TrainingSession& session, const data::Dataset& dataset, std::int64_t batch,
                                 std::int64_t steps, double learning_rate, const std::filesystem::path& folder);

// The largest |a - b| / |b| over two series of the same length.
double largest_relative_difference(const std::vector<double>& a, const std::vector<double>& b);

// Whether two f32 runs of a training differ by no more than rounding, which every step amplifies: at each step `ours`
// is within 1e-3 of `theirs` (relative), or within ten times the largest distance that `theirs` has had so far from
// `exact`, the same training in f64. Three series of one length; false where one is not finite.
bool losses_agree(const std::vector<double>& ours, const std::vector<double>& theirs, const std::vector<double>& exact);

}  // namespace headway::bench
