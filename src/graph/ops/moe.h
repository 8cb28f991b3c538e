// Mixture of experts: which tokens go to which expert, and the way there and back.
//
// Every token chooses the `choices` experts of largest router probability. Their probabilities, renormalised to a sum
// of 1, are the weights with which the experts' outputs are added (Lepikhin et al. 2020, "GShard", algorithm 1). An
// expert takes at most `capacity` tokens: choices are served in the order of tokens, and of one token from the most to
// the least probable; what finds its expert full is dropped, its weight is 0, and the others keep theirs.
//
// Tokens that an expert takes lie together: the rows of expert e are [offsets[e], offsets[e + 1]) of tokens * choices
// rows, in the order of tokens; the rows behind the last expert's are as many as were dropped and hold zeros.
#pragma once

#include "graph/graph.h"

namespace headway::graph {

struct MoeRouteAttributes {
  std::int64_t choices = 2;
  std::int64_t capacity = 1;  // tokens of an expert at most
  static MoeRouteAttributes from(const Attributes& attributes);
  Attributes to_attributes() const;
};

// ceil(factor * tokens * choices / experts), at least 1.
std::int64_t expert_capacity(std::int64_t tokens, std::int64_t experts, std::int64_t choices, double factor);

// moe_route. Input logits [tokens, experts]; outputs
//   weights f32 [tokens, choices]           0 where dropped
//   rows i32 [tokens, choices]              -1 where dropped
//   sources i32 [tokens * choices]          of each row: token * choices + choice, or -1
//   offsets i32 [experts + 1]
//   chosen i32 [tokens, choices]            experts, the most probable first, the first of equals
//   probabilities f32 [tokens, experts]     softmax of the logits
//   load f32 [experts]                      f_e: the share of all choices that chose e, dropped or not
//   balance f32 []                          experts * sum_e f_e P_e, P_e the mean probability of e; 1 when balanced
//                                           (Fedus et al. 2021, "Switch Transformers", equations 4 to 6, where a token
//                                           has one choice)
//   dropped f32 []                          the share of all choices that were dropped
// Gradients pass through weights and balance to the probabilities; f_e is a constant.
const Op& moe_route_op();
struct MoeRouting {
  ValueId weights, rows, sources, offsets, chosen, probabilities, load, balance, dropped;
};
MoeRouting moe_route(Graph& graph, ValueId logits, MoeRouteAttributes attributes);

// moe_route_grad. Inputs dweights, dbalance [], probabilities, chosen, rows, load; output dlogits.
const Op& moe_route_grad_op();

// moe_dispatch. Inputs x [tokens, n], rows, sources and perhaps weights; output [tokens * choices, n]: row r is the
// token of sources[r], times its weight if there are weights, or zeros.
const Op& moe_dispatch_op();
ValueId moe_dispatch(Graph& graph, ValueId x, const MoeRouting& routing);

// moe_combine. Inputs y [tokens * choices, n], rows, sources and perhaps weights; output [tokens, n]: the sum of a
// token's rows, in the order of choices, each times its weight if there are weights.
const Op& moe_combine_op();
ValueId moe_combine(Graph& graph, ValueId y, const MoeRouting& routing);

// moe_weight_grad. Inputs dout [tokens, n], y [tokens * choices, n], rows; output dweights [tokens, choices]: the
// products of a token's gradient with its rows, 0 where dropped.
const Op& moe_weight_grad_op();

}  // namespace headway::graph
