#include "graph/ops/loss.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

struct LogitsShape {
  Shape shape;
  bool large = false;

  // The shape of labels: all axes but the last.
  Shape rows() const { return Shape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1)); }
};

std::vector<LogitsShape> logits_shapes(Random& random) {
  return {{{1, 1}},     {{3, 5}},          {{1, 10}},
          {{2, 3, 17}}, {{129, 3}},        {{random.integer(1, 30), random.integer(2, 90)}},
          {{5, 10}},    {{701, 515}, true}};
}

Operand labels_for(CaseMaker& maker, const LogitsShape& at) {
  return maker.ids(at.rows(), 0, at.shape[-1] - 1);
}

}  // namespace

void cross_entropy_cases(CaseMaker& maker) {
  const graph::Attributes plain = graph::CrossEntropyAttributes{false}.to_attributes();
  const graph::Attributes fused = graph::CrossEntropyAttributes{true}.to_attributes();
  for (const LogitsShape& at : logits_shapes(maker.random())) {
    const Operand logits = maker.floats(at.shape, -5, 5), labels = labels_for(maker, at);
    maker.add(plain, {logits, labels}).large = at.large;
    maker.add(fused, {logits, labels, maker.f32({}, 0.5, 2)}).large = at.large;
  }
  maker.add(plain, {maker.floats({7, 9}, -300, 300), maker.ids({7}, 0, 8)});
  // A label outside the classes on either side: NaN, whatever the other rows say.
  maker.add(plain, {maker.floats({4, 3}), maker.ids_of({0, 1, 3, 2})});
  maker.add(plain, {maker.floats({4, 3}), maker.ids_of({0, 1, -1, 2})});
}

void cross_entropy_grad_cases(CaseMaker& maker) {
  for (const LogitsShape& at : logits_shapes(maker.random())) {
    const Operand logits = maker.floats(at.shape, -5, 5), labels = labels_for(maker, at);
    const std::vector<Operand> saved =
        maker.run(graph::cross_entropy_op(), graph::CrossEntropyAttributes{false}.to_attributes(), {logits, labels});
    maker.add({}, {logits, labels, saved[1], maker.f32({}, 0.5, 2)}).large = at.large;
  }
}

void mse_cases(CaseMaker& maker) {
  for (const LogitsShape& at : logits_shapes(maker.random())) {
    maker.add({}, {maker.floats(at.shape), maker.floats(at.shape)}).large = at.large;
  }
  maker.add({}, {maker.floats({1}), maker.floats({1})});
}

void mse_grad_cases(CaseMaker& maker) {
  for (const LogitsShape& at : logits_shapes(maker.random())) {
    maker.add({}, {maker.floats(at.shape), maker.floats(at.shape), maker.f32({}, 0.5, 2)}).large = at.large;
  }
}

void bce_with_logits_cases(CaseMaker& maker) {
  for (const LogitsShape& at : logits_shapes(maker.random())) {
    maker.add({}, {maker.floats(at.shape, -5, 5), maker.floats(at.shape, 0, 1)}).large = at.large;
  }
  // Far out, where exp overflows when carelessly used; hard labels.
  maker.add({}, {maker.given({6}, {-1e4, -100, -0.0, 0, 100, 1e4}), maker.given({6}, {0, 1, 1, 0, 1, 0})});
}

void bce_with_logits_grad_cases(CaseMaker& maker) {
  for (const LogitsShape& at : logits_shapes(maker.random())) {
    // Hard labels: a soft one may be so near its sigmoid that their difference is all rounding.
    const Operand labels = maker.given(at.shape, maker.random().integers(at.shape, 0, 1));
    maker.add({}, {maker.floats(at.shape, -5, 5), labels, maker.f32({}, 0.5, 2)}).large = at.large;
  }
  maker.add({}, {maker.given({4}, {-1e4, -100, 100, 1e4}), maker.given({4}, {0, 1, 1, 0}), maker.f32({}, 0.5, 2)});
}

void count_correct_cases(CaseMaker& maker) {
  for (const LogitsShape& at : logits_shapes(maker.random())) {
    maker.add({}, {maker.floats(at.shape), labels_for(maker, at)}).large = at.large;
  }
  // Ties: the first of equals counts.
  maker.add({}, {maker.given({60, 5}, maker.random().integers({60, 5}, 0, 1)), maker.ids({60}, 0, 4)});
  maker.add({}, {maker.floats({8, 3}), maker.ids({8}, -1, 3)});
}

}  // namespace headway::ops_test
