#include "graph/ops/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/reference/functions.h"

namespace headway::backend::reference {
namespace {

double log_sum_exp(const double* row, std::size_t classes) {
  const double largest = *std::max_element(row, row + classes);
  double sum = 0;
  for (std::size_t i = 0; i < classes; ++i) sum += std::exp(row[i] - largest);
  return largest + std::log(sum);
}

// dlogits = (softmax - one at the label) * dloss / rows.
void grad_of_row(const double* logits, std::size_t classes, double label, double lse, double scale, double* dlogits) {
  for (std::size_t i = 0; i < classes; ++i) {
    const double one = static_cast<double>(i) == label ? 1 : 0;
    dlogits[i] = (std::exp(logits[i] - lse) - one) * scale;
  }
}

}  // namespace

void cross_entropy(const Call& call) {
  const auto attributes = graph::CrossEntropyAttributes::from(call.attributes);
  const Tensor& logits = call.inputs[0];
  const Tensor& labels = call.inputs[1];
  const auto classes = static_cast<std::size_t>(call.in_shape(0)[-1]);
  const auto rows = static_cast<double>(labels.size());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const double* at = logits.data() + row * classes;
    const double lse = log_sum_exp(at, classes);
    const bool known = labels[row] >= 0 && labels[row] < static_cast<double>(classes);
    call.outputs[0][0] +=
        known ? (lse - at[static_cast<std::size_t>(labels[row])]) / rows : std::numeric_limits<double>::quiet_NaN();
    if (attributes.with_grad) {
      grad_of_row(at, classes, labels[row], lse, call.inputs[2][0] / rows, call.outputs[1].data() + row * classes);
    } else {
      call.outputs[1][row] = lse;
    }
  }
}

void cross_entropy_grad(const Call& call) {
  const Tensor& logits = call.inputs[0];
  const Tensor& labels = call.inputs[1];
  const auto classes = static_cast<std::size_t>(call.in_shape(0)[-1]);
  const double scale = call.inputs[3][0] / static_cast<double>(labels.size());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    grad_of_row(logits.data() + row * classes, classes, labels[row], call.inputs[2][row], scale,
                call.outputs[0].data() + row * classes);
  }
}

void mse(const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& target = call.inputs[1];
  for (std::size_t i = 0; i < x.size(); ++i) {
    call.outputs[0][0] += (x[i] - target[i]) * (x[i] - target[i]) / static_cast<double>(x.size());
  }
}

void bce_with_logits(const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& target = call.inputs[1];
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double loss = std::max(x[i], 0.0) - x[i] * target[i] + std::log1p(std::exp(-std::fabs(x[i])));
    call.outputs[0][0] += loss / static_cast<double>(x.size());
  }
}

void bce_with_logits_grad(const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& target = call.inputs[1];
  const double dloss = call.inputs[2][0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    call.outputs[0][i] = (1 / (1 + std::exp(-x[i])) - target[i]) * dloss / static_cast<double>(x.size());
  }
}

void mse_grad(const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& target = call.inputs[1];
  const double dloss = call.inputs[2][0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    call.outputs[0][i] = 2 * (x[i] - target[i]) * dloss / static_cast<double>(x.size());
  }
}

void count_correct(const Call& call) {
  const Tensor& logits = call.inputs[0];
  const Tensor& labels = call.inputs[1];
  const auto classes = call.in_shape(0)[-1];
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto first = logits.begin() + static_cast<std::int64_t>(row) * classes;
    const auto largest = std::max_element(first, first + classes);  // the first of equals
    if (static_cast<double>(largest - first) == labels[row]) call.outputs[0][0] += 1;
  }
}

}  // namespace headway::backend::reference
