#include "graph/passes/pass.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/passes/fusion.h"
#include "graph/passes/mixed_precision.h"

namespace headway::graph {

std::span<const Pass> all_passes() {
  static constexpr std::array kPasses = {
      Pass{"remove_dead", "drops nodes whose results nobody reads", remove_dead},
      Pass{"fuse_norm_activation", "LayerNorm and BatchNorm with the activation after them, forward and backward",
           fuse_norm_activation},
      Pass{"fuse_activation_norm_grad", "the gradient of BatchNorm with that of the activation before it",
           fuse_activation_norm_grad},
      Pass{"fuse_bias_activation", "linear, grouped_linear and conv2d with the activation after them",
           fuse_bias_activation},
      Pass{"pool_activation_grad", "the gradient of an activation before max_pool2d, on the pooled values",
           pool_activation_grad},
      Pass{"fuse_activation_conv_grad", "the gradients of conv2d with that of the activation after it",
           fuse_activation_conv_grad},
      Pass{"fuse_bias_grad", "the gradient of an activation with the sum for the bias", fuse_bias_grad},
      Pass{"fuse_residual_norm", "residual addition with the LayerNorm or RMSNorm after it, forward and backward",
           fuse_residual_norm},
      Pass{"fuse_cross_entropy", "cross-entropy with its gradient", fuse_cross_entropy},
      Pass{"fuse_optimizer", "the update of all parameters as one op", fuse_optimizer},
  };
  return kPasses;
}

std::vector<PassReport> run_passes(Graph& graph, const std::vector<std::string>& without, const PassOptions& options) {
  constexpr const char *kMixed = "mixed_precision", *kRecompute = "recompute";
  std::vector<std::string> names = {kMixed, kRecompute};
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  for (const std::string& name : without) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw UserError(fmt::format("--without-pass: no pass '{}'{}", name, suggestion(name, names)));
    }
  }
  std::vector<PassReport> reports;
  const auto run = [&](std::string_view name, const auto& rewrite) {
    if (std::find(without.begin(), without.end(), name) != without.end()) return;
    const Seconds start = now();
    const std::int64_t rewrites = rewrite();
    verify(graph);
    reports.push_back({std::string(name), rewrites, now() - start});
  };
  for (const Pass& pass : all_passes()) run(pass.name, [&] { return pass.run(graph); });
  if (options.precision == DType::kBF16) run(kMixed, [&] { return mixed_precision(graph); });
  if (options.recompute != Recompute::kNone) run(kRecompute, [&] { return recompute(graph, options.recompute); });
  return reports;
}

}  // namespace headway::graph
