#include "graph/ops/grouped_linear.h"
#include "graph/ops/moe.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

// Rows of some groups, one of them empty where there are three or more, and `left` rows of no group.
struct Groups {
  std::int64_t n, k;
  std::vector<std::int64_t> sizes;
  std::int64_t left = 0;
  bool large = false;

  std::int64_t count() const { return static_cast<std::int64_t>(sizes.size()); }
  std::int64_t rows() const {
    std::int64_t sum = left;
    for (const std::int64_t size : sizes) sum += size;
    return sum;
  }
  Operand offsets(CaseMaker& maker) const {
    Tensor all = {0};
    for (const std::int64_t size : sizes) all.push_back(all.back() + static_cast<double>(size));
    return maker.ids_of(std::move(all));
  }
};

const std::vector<Groups> kGroups = {
    {1, 1, {1}},       {3, 5, {2, 4}, 1},      {7, 4, {0, 3, 0, 5}},
    {5, 6, {}, 3},     {4, 3, {0, 0}},         {17, 33, {9, 1, 20}, 4},
    {1, 8, {6, 2}, 2}, {70, 50, {40, 33}, 10}, {150, 131, {201, 0, 330, 75}, 30, true}};

// Logits of tokens for experts, and how tight the experts are.
struct Mixture {
  std::int64_t tokens, experts, choices;
  double factor = 1.25;
  bool large = false;
};

const std::vector<Mixture> kMixtures = {{1, 1, 1},       {7, 3, 2},       {7, 3, 3, 0.5},  {0, 4, 2},
                                        {20, 4, 1, 0.6}, {33, 8, 2, 0.9}, {5, 2, 2, 1e-3}, {1500, 8, 2, 1.0, true}};

graph::Attributes attributes_of(const Mixture& at) {
  return graph::MoeRouteAttributes{at.choices, graph::expert_capacity(at.tokens, at.experts, at.choices, at.factor)}
      .to_attributes();
}

std::vector<Operand> routing_of(CaseMaker& maker, const Mixture& at) {
  const Operand logits = maker.floats({at.tokens, at.experts}, -3, 3);
  return maker.run(graph::moe_route_op(), attributes_of(at), {logits});
}

std::int64_t width_of(const Mixture& at) {
  return at.large ? 200 : at.tokens % 7 * 9 + 1;
}

}  // namespace

void grouped_linear_cases(CaseMaker& maker) {
  for (const graph::Activation kind : {graph::Activation::kNone, graph::Activation::kGeluTanh}) {
    for (const bool keep_pre : {false, true}) {
      if (keep_pre && kind == graph::Activation::kNone) continue;
      for (const Groups& at : kGroups) {
        std::vector<Operand> operands = {maker.floats({at.rows(), at.k}), maker.floats({at.count(), at.n, at.k}, -1, 1),
                                         at.offsets(maker)};
        const graph::Attributes attributes = graph::LinearAttributes{kind, keep_pre}.to_attributes();
        maker.add(attributes, operands).large = at.large;
        operands.push_back(maker.floats({at.count(), at.n}));
        maker.add(attributes, operands).large = at.large;
      }
    }
  }
}

void grouped_linear_grad_input_cases(CaseMaker& maker) {
  for (const Groups& at : kGroups) {
    maker.add({}, {maker.floats({at.rows(), at.n}), maker.floats({at.count(), at.n, at.k}, -1, 1), at.offsets(maker)})
        .large = at.large;
  }
}

void grouped_linear_grad_weight_cases(CaseMaker& maker) {
  for (const bool bias : {false, true}) {
    for (const Groups& at : kGroups) {
      maker
          .add(graph::GroupedLinearGradWeightAttributes{bias}.to_attributes(),
               {maker.floats({at.rows(), at.n}, -1, 1), maker.floats({at.rows(), at.k}), at.offsets(maker)})
          .large = at.large;
    }
  }
}

void moe_route_cases(CaseMaker& maker) {
  for (const Mixture& at : kMixtures) {
    maker.add(attributes_of(at), {maker.floats({at.tokens, at.experts}, -3, 3)}).large = at.large;
  }
  // Equal logits: the first expert wins. Large ones: no probability overflows.
  maker.add(attributes_of({3, 4, 2}), {maker.given({3, 4}, Tensor(12, 0.5))});
  maker.add(attributes_of({9, 5, 2}), {maker.floats({9, 5}, -300, 300)});
}

void moe_route_grad_cases(CaseMaker& maker) {
  for (const Mixture& at : kMixtures) {
    const std::vector<Operand> saved = routing_of(maker, at);
    maker.add({}, {maker.floats({at.tokens, at.choices}), maker.floats({}), saved[5], saved[4], saved[1], saved[6]})
        .large = at.large;
  }
}

void moe_dispatch_cases(CaseMaker& maker) {
  for (const Mixture& at : kMixtures) {
    const std::vector<Operand> saved = routing_of(maker, at);
    const Operand x = maker.floats({at.tokens, width_of(at)});
    maker.add({}, {x, saved[1], saved[2]}).large = at.large;
    maker.add({}, {x, saved[1], saved[2], saved[0]}).large = at.large;
  }
}

void moe_combine_cases(CaseMaker& maker) {
  for (const Mixture& at : kMixtures) {
    const std::vector<Operand> saved = routing_of(maker, at);
    const Operand y = maker.floats({at.tokens * at.choices, width_of(at)});
    maker.add({}, {y, saved[1], saved[2]}).large = at.large;
    maker.add({}, {y, saved[1], saved[2], saved[0]}).large = at.large;
  }
}

void moe_weight_grad_cases(CaseMaker& maker) {
  for (const Mixture& at : kMixtures) {
    const std::vector<Operand> saved = routing_of(maker, at);
    const std::int64_t n = width_of(at);
    maker.add({}, {maker.floats({at.tokens, n}), maker.floats({at.tokens * at.choices, n}), saved[1]}).large = at.large;
  }
}

}  // namespace headway::ops_test
