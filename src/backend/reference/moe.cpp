#include "graph/ops/moe.h"

#include <algorithm>
#include <cmath>

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

std::size_t at(std::int64_t row, std::int64_t columns, std::int64_t column) {
  return static_cast<std::size_t>(row * columns + column);
}

// Softmax of each token's logits, and its choices with their renormalised probabilities.
void choose(const Call& call, std::int64_t tokens, std::int64_t experts, std::int64_t choices) {
  const Tensor& logits = call.inputs[0];
  Tensor& weights = call.outputs[0];
  Tensor& chosen = call.outputs[4];
  Tensor& probabilities = call.outputs[5];
  for (std::int64_t token = 0; token < tokens; ++token) {
    double largest = logits[at(token, experts, 0)], sum = 0, chosen_sum = 0;
    for (std::int64_t e = 0; e < experts; ++e) largest = std::max(largest, logits[at(token, experts, e)]);
    for (std::int64_t e = 0; e < experts; ++e) sum += std::exp(logits[at(token, experts, e)] - largest);
    std::vector<std::int64_t> order;
    for (std::int64_t e = 0; e < experts; ++e) {
      probabilities[at(token, experts, e)] = std::exp(logits[at(token, experts, e)] - largest) / sum;
      order.push_back(e);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return logits[at(token, experts, a)] > logits[at(token, experts, b)];
    });
    for (std::int64_t c = 0; c < choices; ++c) {
      const std::int64_t e = order[static_cast<std::size_t>(c)];
      chosen[at(token, choices, c)] = static_cast<double>(e);
      weights[at(token, choices, c)] = probabilities[at(token, experts, e)];
      chosen_sum += weights[at(token, choices, c)];
    }
    for (std::int64_t c = 0; c < choices; ++c) weights[at(token, choices, c)] /= chosen_sum;
  }
}

}  // namespace

void moe_route(const Call& call) {
  const auto [choices, capacity] = graph::MoeRouteAttributes::from(call.attributes);
  const std::int64_t tokens = call.in_shape(0)[0], experts = call.in_shape(0)[1];
  choose(call, tokens, experts, choices);
  Tensor& weights = call.outputs[0];
  Tensor& rows = call.outputs[1];
  Tensor& sources = call.outputs[2];
  Tensor& offsets = call.outputs[3];
  const Tensor& chosen = call.outputs[4];
  const Tensor& probabilities = call.outputs[5];
  const auto all = static_cast<double>(std::max<std::int64_t>(tokens * choices, 1));
  std::fill(sources.begin(), sources.end(), -1.0);
  std::fill(rows.begin(), rows.end(), -1.0);
  std::int64_t row = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    std::int64_t asked = 0;
    for (std::size_t choice = 0; choice < chosen.size(); ++choice) {
      if (chosen[choice] != static_cast<double>(e)) continue;
      if (asked++ >= capacity) continue;
      rows[choice] = static_cast<double>(row);
      sources[static_cast<std::size_t>(row++)] = static_cast<double>(choice);
    }
    offsets[static_cast<std::size_t>(e + 1)] = static_cast<double>(row);
    const double load = static_cast<double>(asked) / all;
    double mean = 0;
    for (std::int64_t token = 0; token < tokens; ++token) mean += probabilities[at(token, experts, e)];
    call.outputs[6][static_cast<std::size_t>(e)] = load;
    if (tokens > 0) call.outputs[7][0] += static_cast<double>(experts) * load * mean / static_cast<double>(tokens);
  }
  for (std::size_t choice = 0; choice < rows.size(); ++choice) {
    if (rows[choice] < 0) weights[choice] = 0;
  }
  call.outputs[8][0] = static_cast<double>(tokens * choices - row) / all;
}

// w_j = kept_j p_j / s, s the sum of the chosen p: dp_i = (kept_i dw_i - sum_j kept_j dw_j p_j / s) / s for the chosen;
// to all dp_e += dbalance experts f_e / tokens. dlogits = p (dp - sum p dp).
void moe_route_grad(const Call& call) {
  const Tensor& dweights = call.inputs[0];
  const Tensor& probabilities = call.inputs[2];
  const Tensor& chosen = call.inputs[3];
  const Tensor& rows = call.inputs[4];
  const Tensor& load = call.inputs[5];
  const std::int64_t tokens = call.in_shape(2)[0], experts = call.in_shape(2)[1], choices = call.in_shape(0)[1];
  for (std::int64_t token = 0; token < tokens; ++token) {
    Tensor dp(static_cast<std::size_t>(experts));
    double sum = 0, mixed = 0;
    for (std::int64_t c = 0; c < choices; ++c) {
      const double p = probabilities[at(token, experts, static_cast<std::int64_t>(chosen[at(token, choices, c)]))];
      sum += p;
      if (rows[at(token, choices, c)] >= 0) mixed += dweights[at(token, choices, c)] * p;
    }
    for (std::int64_t c = 0; c < choices; ++c) {
      const bool kept = rows[at(token, choices, c)] >= 0;
      dp[static_cast<std::size_t>(chosen[at(token, choices, c)])] =
          ((kept ? dweights[at(token, choices, c)] : 0) - mixed / sum) / sum;
    }
    double mean = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      dp[static_cast<std::size_t>(e)] += call.inputs[1][0] * static_cast<double>(experts) *
                                         load[static_cast<std::size_t>(e)] / static_cast<double>(tokens);
      mean += probabilities[at(token, experts, e)] * dp[static_cast<std::size_t>(e)];
    }
    for (std::int64_t e = 0; e < experts; ++e) {
      call.outputs[0][at(token, experts, e)] =
          probabilities[at(token, experts, e)] * (dp[static_cast<std::size_t>(e)] - mean);
    }
  }
}

void moe_dispatch(const Call& call) {
  const std::int64_t n = call.in_shape(0)[1], choices = call.in_shape(1)[1];
  const Tensor& sources = call.inputs[2];
  for (std::size_t row = 0; row < sources.size(); ++row) {
    if (sources[row] < 0) continue;
    const auto source = static_cast<std::int64_t>(sources[row]);
    const double weight = call.inputs.size() == 4 ? call.inputs[3][static_cast<std::size_t>(source)] : 1;
    for (std::int64_t j = 0; j < n; ++j) {
      call.outputs[0][at(static_cast<std::int64_t>(row), n, j)] = weight * call.inputs[0][at(source / choices, n, j)];
    }
  }
}

void moe_combine(const Call& call) {
  const std::int64_t n = call.in_shape(0)[1], choices = call.in_shape(1)[1];
  const Tensor& rows = call.inputs[1];
  for (std::size_t choice = 0; choice < rows.size(); ++choice) {
    if (rows[choice] < 0) continue;
    const double weight = call.inputs.size() == 4 ? call.inputs[3][choice] : 1;
    for (std::int64_t j = 0; j < n; ++j) {
      call.outputs[0][at(static_cast<std::int64_t>(choice) / choices, n, j)] +=
          weight * call.inputs[0][at(static_cast<std::int64_t>(rows[choice]), n, j)];
    }
  }
}

void moe_weight_grad(const Call& call) {
  const std::int64_t n = call.in_shape(0)[1], choices = call.in_shape(2)[1];
  const Tensor& rows = call.inputs[2];
  for (std::size_t choice = 0; choice < rows.size(); ++choice) {
    if (rows[choice] < 0) continue;
    for (std::int64_t j = 0; j < n; ++j) {
      call.outputs[0][choice] += call.inputs[0][at(static_cast<std::int64_t>(choice) / choices, n, j)] *
                                 call.inputs[1][at(static_cast<std::int64_t>(rows[choice]), n, j)];
    }
  }
}

}  // namespace headway::backend::reference
