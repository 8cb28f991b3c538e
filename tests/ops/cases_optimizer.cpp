#include <cmath>

#include "graph/ops/optimizer.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

struct Group {
  std::vector<Shape> shapes;  // of the parameters of one node
  bool large = false;
};

std::vector<Group> groups(Random& random) {
  return {{{{1}}},
          {{{7, 3}}},
          {{{0}, {5}}},
          {{{3, 5}, {5}, {1}, {16, 4}}},
          {{{random.integer(1, 50), random.integer(1, 50)}, {random.integer(1, 50)}}},
          {{{4096}, {4097}, {2, 4095}}, true},
          {{{701, 515}, {515}, {64, 65}}, true}};
}

std::vector<std::int64_t> mask_of(const Group& group) {
  std::vector<std::int64_t> mask;
  for (const Shape& shape : group.shapes) mask.push_back(shape.rank() > 1 ? 1 : 0);
  return mask;
}

// hyper at the given step of AdamW with betas 0.9 and 0.95.
Operand hyper_of(CaseMaker& maker, double lr, int step) {
  return maker.f32({4}, Tensor{lr, 1 - std::pow(0.9, step), 1 - std::pow(0.95, step), 0});
}

}  // namespace

void grad_norm_cases(CaseMaker& maker) {
  for (const Group& group : groups(maker.random())) {
    std::vector<Operand> gradients;
    for (const Shape& shape : group.shapes) gradients.push_back(maker.floats(shape));
    maker.add(graph::GradNormAttributes{1}.to_attributes(), gradients).large = group.large;
    maker.add(graph::GradNormAttributes{0.25}.to_attributes(), gradients).large = group.large;
  }
}

void adamw_cases(CaseMaker& maker) {
  for (const double norm : {0.0, 0.3, 7.0}) {  // no clipping, under and over the bound of 1
    for (const Group& group : groups(maker.random())) {
      graph::AdamWAttributes attributes;
      attributes.beta2 = 0.95;
      attributes.clip = norm > 0 ? 1 : 0;
      attributes.grad_scale = norm > 0 ? 0.5 : 1;
      attributes.weight_decay = 0.1;
      attributes.decay_mask = mask_of(group);
      std::vector<Operand> operands = {hyper_of(maker, 0.01, norm > 0 ? 1 : 20)};
      if (norm > 0) operands.push_back(maker.f32({}, Tensor{norm}));
      for (const Shape& shape : group.shapes) {
        operands.push_back(maker.f32(shape));
        operands.push_back(maker.floats(shape));
        operands.push_back(maker.f32(shape));
        operands.push_back(maker.f32(shape, 0.01, 2));
      }
      maker.add(attributes.to_attributes(), operands).large = group.large;
    }
  }
}

void sgd_cases(CaseMaker& maker) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double norm : {0.0, 0.3, 7.0}) {
      for (const Group& group : groups(maker.random())) {
        graph::SgdAttributes attributes;
        attributes.momentum = momentum;
        attributes.clip = norm > 0 ? 1 : 0;
        attributes.grad_scale = norm > 0 ? 0.5 : 1;
        attributes.weight_decay = 0.1;
        attributes.decay_mask = mask_of(group);
        std::vector<Operand> operands = {hyper_of(maker, 0.05, 1)};
        if (norm > 0) operands.push_back(maker.f32({}, Tensor{norm}));
        for (const Shape& shape : group.shapes) {
          operands.push_back(maker.f32(shape));
          operands.push_back(maker.floats(shape));
          if (momentum > 0) operands.push_back(maker.f32(shape));
        }
        maker.add(attributes.to_attributes(), operands).large = group.large;
      }
    }
  }
}

}  // namespace headway::ops_test
