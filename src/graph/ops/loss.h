// Losses (means over all rows or elements) and the count of right answers.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

// cross_entropy. Inputs logits [..., classes], labels i32 [...]; outputs loss [] = mean of -log softmax(logits)[label],
// and the log-sum-exp of each row [...]. A label outside [0, classes) makes the loss NaN.
// With `with_grad` (made by the fusion pass) a third input dloss [] and, in place of the log-sum-exp, the gradient of
// the logits.
struct CrossEntropyAttributes {
  bool with_grad = false;
  static CrossEntropyAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};
const Op& cross_entropy_op();
ValueId cross_entropy(Graph& graph, ValueId logits, ValueId labels);

// cross_entropy_grad. Inputs logits, labels, log-sum-exp, dloss []; output dlogits.
const Op& cross_entropy_grad_op();

// mse. Inputs x, target (equal shapes); output loss [] = mean of (x - target)^2.
const Op& mse_op();
ValueId mse(Graph& graph, ValueId x, ValueId target);

// mse_grad. Inputs x, target, dloss []; output dx = 2 (x - target) dloss / elements.
const Op& mse_grad_op();

// bce_with_logits. Inputs logits, target (equal shapes, targets from 0 to 1); output loss [] = mean of
// -(target log s + (1 - target) log(1 - s)) with s = sigmoid(logit), computed as
// max(logit, 0) - logit target + log(1 + exp(-|logit|)), which no logit overflows.
const Op& bce_with_logits_op();
ValueId bce_with_logits(Graph& graph, ValueId logits, ValueId target);

// bce_with_logits_grad. Inputs logits, target, dloss []; output dlogits = (sigmoid(logit) - target) dloss / elements.
const Op& bce_with_logits_grad_op();

// count_correct. Inputs logits [..., classes], labels i32 [...]; output f32 []: rows whose largest logit (the first of
// equals) is the label.
const Op& count_correct_op();
ValueId count_correct(Graph& graph, ValueId logits, ValueId labels);

}  // namespace headway::graph
