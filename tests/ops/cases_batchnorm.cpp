#include "graph/ops/batchnorm.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

struct BatchShape {
  Shape shape;
  bool large = false;
};

// Two rows, odd and even channels, more and fewer than a vector holds, images, no channels; many tiles whose last ends
// within a row of columns.
std::vector<BatchShape> batch_shapes(Random& random) {
  return {{{2, 1}},
          {{7, 3}},
          {{5, 16}},
          {{2, 3, 5, 6}},
          {{4, 0}},
          {{9, 70}},
          {{random.integer(2, 60), random.integer(1, 90)}},
          {{5003, 33}, true},
          {{3, 401, 50, 5}, true},
          {{301, 1100}, true}};
}

constexpr graph::Activation kKinds[] = {
    graph::Activation::kNone,    graph::Activation::kRelu,     {graph::Activation::kLeakyRelu, 0.3},
    graph::Activation::kGeluErf, graph::Activation::kGeluTanh, graph::Activation::kSilu,
    graph::Activation::kTanh,    graph::Activation::kSigmoid};

std::vector<Operand> operands_of(CaseMaker& maker, const Shape& shape, double low = -2, double high = 2) {
  const Shape channel{shape[-1]};
  return {maker.floats(shape, low, high), maker.floats(channel), maker.floats(channel), maker.floats(channel),
          maker.floats(channel, 0.1, 2)};
}

bool has_kink(graph::Activation kind) {
  return kind.kind == graph::Activation::kRelu || kind.kind == graph::Activation::kLeakyRelu;
}

}  // namespace

void batchnorm_cases(CaseMaker& maker) {
  for (const graph::Activation kind : kKinds) {
    for (const bool evaluation : {false, true}) {
      const graph::Attributes attributes = graph::BatchNormAttributes{1e-5, 0.1, kind, evaluation}.to_attributes();
      for (const BatchShape& at : batch_shapes(maker.random())) {
        if (at.large && kind != graph::Activation::kNone && kind != graph::Activation::kSilu) continue;
        maker.add(attributes, operands_of(maker, at.shape)).large = at.large;
      }
    }
  }
  const auto evaluation = graph::BatchNormAttributes{1e-3, 0.1, {}, true}.to_attributes();
  maker.add(evaluation, operands_of(maker, {0, 5}));
  maker.add(evaluation, operands_of(maker, {1, 5}));
  // A mean far above the spread: the variance must not be a difference of large squares.
  maker.add(graph::BatchNormAttributes{1e-5, 0.7}.to_attributes(), operands_of(maker, {40, 6}, 99, 101));
}

void batchnorm_grad_cases(CaseMaker& maker) {
  const auto add = [&](const BatchShape& at, graph::Activation after, graph::Activation before) {
    std::vector<Operand> given = operands_of(maker, at.shape);
    if (before != graph::Activation::kNone) {
      given[0] = maker.run(graph::activation_op(), graph::ActivationAttributes{before}.to_attributes(), {given[0]})[0];
    }
    const std::vector<Operand> saved =
        maker.run(graph::batchnorm_op(), graph::BatchNormAttributes{}.to_attributes(), given);
    maker
        .add(graph::BatchNormGradAttributes{after, before}.to_attributes(),
             {maker.floats(at.shape), given[0], saved[1], saved[2], given[1], given[2]})
        .large = at.large;
  };
  for (const graph::Activation kind : kKinds) {
    for (const BatchShape& at : batch_shapes(maker.random())) {
      // Among many elements some norm is so near 0 that f32 and f64 see other sides of a kink.
      if (!(at.large && has_kink(kind))) add(at, kind, graph::Activation::kNone);
      if (kind != graph::Activation::kNone && graph::gradient_uses_output(kind)) {
        add(at, graph::Activation::kNone, kind);
      }
    }
  }
}

}  // namespace headway::ops_test
