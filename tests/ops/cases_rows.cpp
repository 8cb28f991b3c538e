#include "graph/ops/embedding.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/rmsnorm.h"
#include "graph/ops/shape_ops.h"
#include "graph/ops/softmax.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

constexpr graph::Activation kKinds[] = {
    graph::Activation::kNone,    graph::Activation::kRelu,     {graph::Activation::kLeakyRelu, 0.3},
    graph::Activation::kGeluErf, graph::Activation::kGeluTanh, graph::Activation::kSilu,
    graph::Activation::kTanh,    graph::Activation::kSigmoid};

struct RowShape {
  Shape shape;
  bool large = false;
};

std::vector<RowShape> row_shapes(Random& random) {
  return {{{1, 1}},
          {{7}},
          {{3, 5}},
          {{0, 8}},
          {{2, 3, 17}},
          {{1, 64}},
          {{random.integer(1, 30), random.integer(2, 90)}},
          {{701, 515}, true}};
}

Shape last_axis(const Shape& shape) {
  return {shape[-1]};
}

}  // namespace

void layernorm_cases(CaseMaker& maker) {
  for (const graph::Activation kind : kKinds) {
    for (const bool residual : {false, true}) {
      const graph::Attributes attributes = graph::LayerNormAttributes{1e-5, kind, residual}.to_attributes();
      for (const RowShape& at : row_shapes(maker.random())) {
        std::vector<Operand> operands = {maker.floats(at.shape), maker.floats(last_axis(at.shape)),
                                         maker.floats(last_axis(at.shape))};
        if (residual) operands.push_back(maker.floats(at.shape));
        maker.add(attributes, operands).large = at.large;
      }
    }
  }
  // A mean far above the spread: the variance must not be a difference of large squares.
  maker.add(graph::LayerNormAttributes{}.to_attributes(),
            {maker.floats({4, 48}, 99, 101), maker.floats({48}), maker.floats({48})});
  maker.add(graph::LayerNormAttributes{1e-3, {}, false}.to_attributes(),
            {maker.floats({4, 48}, -0.01, 0.01), maker.floats({48}), maker.floats({48})});
}

void layernorm_grad_cases(CaseMaker& maker) {
  for (const graph::Activation kind : kKinds) {
    for (const bool extra : {false, true}) {
      const graph::Attributes attributes = graph::LayerNormGradAttributes{kind, extra}.to_attributes();
      for (const RowShape& at : row_shapes(maker.random())) {
        // Among many elements some norm is so near 0 that f32 and f64 see other sides of a kink.
        if (at.large && (kind.kind == graph::Activation::kRelu || kind.kind == graph::Activation::kLeakyRelu)) continue;
        const Operand x = maker.floats(at.shape), gamma = maker.floats(last_axis(at.shape)),
                      beta = maker.floats(last_axis(at.shape));
        const std::vector<Operand> saved =
            maker.run(graph::layernorm_op(), graph::LayerNormAttributes{}.to_attributes(), {x, gamma, beta});
        std::vector<Operand> operands = {maker.floats(at.shape), x, saved[1], saved[2], gamma, beta};
        if (extra) operands.push_back(maker.floats(at.shape));
        maker.add(attributes, operands).large = at.large;
      }
    }
  }
}

void rmsnorm_cases(CaseMaker& maker) {
  for (const bool residual : {false, true}) {
    const graph::Attributes attributes = graph::RmsNormAttributes{1e-5, residual}.to_attributes();
    for (const RowShape& at : row_shapes(maker.random())) {
      std::vector<Operand> operands = {maker.floats(at.shape), maker.floats(last_axis(at.shape))};
      if (residual) operands.push_back(maker.floats(at.shape));
      maker.add(attributes, operands).large = at.large;
    }
  }
  // So small that eps decides.
  maker.add(graph::RmsNormAttributes{1e-3, false}.to_attributes(),
            {maker.floats({4, 48}, -0.01, 0.01), maker.floats({48})});
}

void rmsnorm_grad_cases(CaseMaker& maker) {
  for (const bool extra : {false, true}) {
    const graph::Attributes attributes = graph::RmsNormGradAttributes{extra}.to_attributes();
    for (const RowShape& at : row_shapes(maker.random())) {
      const Operand x = maker.floats(at.shape), gamma = maker.floats(last_axis(at.shape));
      const std::vector<Operand> saved =
          maker.run(graph::rmsnorm_op(), graph::RmsNormAttributes{}.to_attributes(), {x, gamma});
      std::vector<Operand> operands = {maker.floats(at.shape), x, saved[1], gamma};
      if (extra) operands.push_back(maker.floats(at.shape));
      maker.add(attributes, operands).large = at.large;
    }
  }
}

void softmax_cases(CaseMaker& maker) {
  for (const RowShape& at : row_shapes(maker.random())) maker.add({}, {maker.floats(at.shape, -5, 5)}).large = at.large;
  maker.add({}, {maker.floats({5, 9}, -500, 500)});
}

void softmax_grad_cases(CaseMaker& maker) {
  for (const RowShape& at : row_shapes(maker.random())) {
    const std::vector<Operand> saved = maker.run(graph::softmax_op(), {}, {maker.floats(at.shape, -5, 5)});
    maker.add({}, {maker.floats(at.shape), saved[0]}).large = at.large;
  }
}

void embedding_cases(CaseMaker& maker) {
  maker.add({}, {maker.floats({1, 1}), maker.ids({1}, 0, 0)});
  maker.add({}, {maker.floats({5, 7}), maker.ids({3, 4}, 0, 4)});
  maker.add({}, {maker.floats({5, 7}), maker.ids({0}, 0, 4)});
  maker.add({}, {maker.floats({19, 33}), maker.ids({2, 3, 5}, 0, 18)});
  // Ids on both sides of the table: rows of NaN.
  maker.add({}, {maker.floats({4, 5}), maker.ids({40}, -2, 6)});
  maker.add({}, {maker.floats({256, 384}), maker.ids({3, 301}, 0, 255)}).large = true;
}

void embedding_grad_cases(CaseMaker& maker) {
  const auto grad = [&](std::int64_t rows, std::int64_t width, const Shape& ids) -> OpCase& {
    std::vector<std::int64_t> dy = ids.dims();
    dy.push_back(width);
    return maker.add(graph::EmbeddingGradAttributes{rows}.to_attributes(),
                     {maker.floats(Shape(dy)), maker.ids(ids, 0, rows - 1)});
  };
  grad(1, 1, {1});
  grad(5, 7, {3, 4});
  grad(5, 7, {0});
  grad(97, 3, {2, 3, 5});
  grad(3, 33, {50});  // every row many times
  grad(256, 384, {3, 301}).large = true;
  grad(5003, 65, {2, 333}).large = true;
}

namespace {

struct Positions {
  Shape x;
  std::int64_t rows;  // of the table
  bool large = false;
};

const std::vector<Positions> kPositions = {
    {{1, 1}, 1},    {{3, 5}, 3},        {{2, 3, 7}, 5},   {{0, 3, 4}, 4},
    {{2, 0, 4}, 2}, {{2, 2, 5, 33}, 6}, {{4, 17, 8}, 17}, {{5, 131, 389}, 200, true}};

}  // namespace

void position_embedding_cases(CaseMaker& maker) {
  for (const Positions& at : kPositions) {
    maker.add({}, {maker.floats(at.x), maker.floats({at.rows, at.x[-1]})}).large = at.large;
  }
}

void position_embedding_grad_cases(CaseMaker& maker) {
  for (const Positions& at : kPositions) {
    maker.add(graph::EmbeddingGradAttributes{at.rows}.to_attributes(), {maker.floats(at.x)}).large = at.large;
  }
}

void reshape_cases(CaseMaker& maker) {
  const auto reshape = [&](const Shape& from, std::vector<std::int64_t> to) {
    graph::Attributes attributes;
    attributes.set("shape", std::move(to));
    maker.add(attributes, {maker.floats(from)});
  };
  reshape({6}, {6});
  reshape({2, 3, 4}, {6, 4});
  reshape({2, 3, 4}, {2, 12});
  reshape({6, 4}, {2, 3, 4});
  reshape({4, 6}, {6, 4});
  reshape({1}, {});
  reshape({0, 3}, {3, 0});
}

void transpose_cases(CaseMaker& maker) {
  const auto transpose = [&](const Shape& shape, std::vector<std::int64_t> permutation) -> OpCase& {
    return maker.add(graph::TransposeAttributes{std::move(permutation)}.to_attributes(), {maker.floats(shape)});
  };
  transpose({5}, {0});
  transpose({3, 5}, {1, 0});
  transpose({3, 5}, {0, 1});
  transpose({0, 5}, {1, 0});
  transpose({2, 3, 5}, {0, 2, 1});
  transpose({2, 3, 5}, {2, 0, 1});
  transpose({2, 3, 4, 5}, {0, 2, 1, 3});
  transpose({2, 3, 4, 5}, {3, 1, 2, 0});
  transpose({maker.random().integer(1, 40), maker.random().integer(1, 40)}, {1, 0});
  transpose({701, 515}, {1, 0}).large = true;
  transpose({5, 130, 7, 33}, {0, 2, 1, 3}).large = true;
}

}  // namespace headway::ops_test
