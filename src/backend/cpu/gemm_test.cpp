// linear and matmul against the fp64 reference: all forms, odd sizes, sizes of 1 and 0, sizes that are cut.
#include <gtest/gtest.h>

#include "backend/cpu/op_check.h"
#include "graph/ops/linear.h"

namespace headway::backend {
namespace {

using namespace op_check;
using graph::Activation;
using graph::LinearAttributes;
using graph::MatmulAttributes;

Problem linear_problem(Draw& draw, const Shape& x, std::int64_t n, const LinearAttributes& attributes, bool bias) {
  const Shape w{n, x[-1]};
  Problem problem{graph::linear_op(),
                  attributes.to_attributes(),
                  {f32(x), f32(w)},
                  {draw.normal(x), draw.normal(w)},
                  tolerance_of_sum(x[-1])};
  if (bias) {
    problem.types.push_back(f32(Shape{n}));
    problem.inputs.push_back(draw.normal(Shape{n}));
  }
  return problem;
}

Problem matmul_problem(Draw& draw, const Shape& a, const Shape& b, const MatmulAttributes& attributes) {
  return {graph::matmul_op(),
          attributes.to_attributes(),
          {f32(a), f32(b)},
          {draw.normal(a), draw.normal(b)},
          tolerance_of_sum(graph::matmul_shape(attributes, a, b).k)};
}

TEST(Linear, EveryActivationWithAndWithoutBiasAndPre) {
  Draw draw(1);
  std::vector<Activation> activations = {Activation::kNone, {Activation::kLeakyRelu, 0.3}};
  activations.insert(activations.end(), graph::kActivations.begin(), graph::kActivations.end());
  for (const Activation activation : activations) {
    for (const bool pre : {false, true}) {
      for (const bool bias : {false, true}) {
        EXPECT_EQ(failures_of(linear_problem(draw, Shape{2, 33, 19}, 37, {activation, pre}, bias)), "");
      }
    }
  }
}

TEST(Linear, RandomShapes) {
  Draw draw(2);
  for (int round = 0; round < 40; ++round) {
    const Shape x{draw.one_of({0, 1, 2, 3, 7, 16, 33, 129, 700}), draw.one_of({0, 1, 2, 5, 17, 64, 130, 257})};
    const std::int64_t n = draw.one_of({0, 1, 2, 3, 16, 31, 100, 257});
    EXPECT_EQ(failures_of(linear_problem(draw, x, n, {Activation::kRelu, draw.below(2) == 1}, draw.below(2) == 1)), "");
  }
}

TEST(Linear, TilesOfRowsAndOfColumns) {
  Draw draw(3);
  EXPECT_EQ(failures_of(linear_problem(draw, Shape{1543, 40}, 70, {Activation::kGeluErf, true}, true)), "");
  EXPECT_EQ(failures_of(linear_problem(draw, Shape{530, 33}, 1100, {}, true)), "");
}

TEST(Matmul, EveryFormWithBatches) {
  Draw draw(4);
  for (int round = 0; round < 48; ++round) {
    const bool ta = round % 2 == 1, tb = round / 2 % 2 == 1;
    const std::int64_t batch = draw.one_of({0, 1, 2, 5}), m = draw.one_of({0, 1, 2, 17, 64, 300});
    const std::int64_t n = draw.one_of({0, 1, 3, 16, 65}), k = draw.one_of({0, 1, 2, 31, 130});
    const Shape a = ta ? Shape{batch, k, m} : Shape{batch, m, k}, b = tb ? Shape{batch, n, k} : Shape{batch, k, n};
    EXPECT_EQ(failures_of(matmul_problem(draw, a, b, {ta, tb, false})), "");
  }
}

TEST(Matmul, GradientOfTheInput) {
  Draw draw(5);
  for (const bool tb : {false, true}) {
    for (const std::int64_t m : {1, 40, 521}) {
      for (const std::int64_t k : {1, 130}) {
        const Shape b = tb ? Shape{48, k} : Shape{k, 48};
        EXPECT_EQ(failures_of(matmul_problem(draw, Shape{2, m, k}, b, {false, tb, true})), "");
      }
    }
  }
}

TEST(Matmul, GradientOfTheWeightsSumsOverAllRows) {
  Draw draw(6);
  for (int round = 0; round < 24; ++round) {
    const std::int64_t rows = draw.one_of({0, 1, 64, 1000, 3000, 4099}), m = draw.one_of({1, 3, 65, 130, 256});
    const std::int64_t n = draw.one_of({1, 5, 77, 130});
    EXPECT_EQ(failures_of(matmul_problem(draw, Shape{2, rows, m}, Shape{2, rows, n}, {true, false, true})), "");
  }
}

// Cuts of rows, of columns and of the inner axis; panels packed for all tiles (many rows) and by each tile; dot
// products and sums of a few rows.
TEST(Matmul, EveryCut) {
  Draw draw(9);
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{1601, 300}, Shape{300, 130}, {false, false, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{1601, 300}, Shape{130, 300}, {false, true, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{256, 300}, Shape{250, 300}, {false, true, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{700, 300}, Shape{300, 1600}, {false, false, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{4000, 401}, Shape{4000, 100}, {true, false, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{4000, 1}, Shape{4000, 512}, {true, false, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{300, 8}, Shape{300, 700}, {true, false, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{130, 128}, Shape{128, 2000}, {false, false, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{900, 1}, Shape{1, 333}, {false, false, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{900, 333}, Shape{333, 1}, {false, false, true})), "");
  EXPECT_EQ(failures_of(matmul_problem(draw, Shape{900, 333}, Shape{3, 333}, {false, true, true})), "");
}

TEST(Matmul, ALostBlockOfRowsIsFound) {
  Draw draw(7);
  const Problem problem = matmul_problem(draw, Shape{1, 4096, 64}, Shape{1, 4096, 48}, {true, false, true});
  EXPECT_EQ(failures_of(problem), "");
  // One row of the 4096 is left out: its share taken off the first column of the result.
  const Defect lost_row = [&](std::vector<std::vector<std::byte>>& outputs) {
    for (std::size_t i = 0; i < 64; ++i) {
      float value = 0;
      std::memcpy(&value, outputs[0].data() + 4 * 48 * i, 4);
      value -= static_cast<float>(problem.inputs[0][64 * 100 + i] * problem.inputs[1][48 * 100]);
      std::memcpy(outputs[0].data() + 4 * 48 * i, &value, 4);
    }
  };
  EXPECT_NE(failures_of(problem, lost_row), "");
}

TEST(Matmul, ABlockThatIsNotWrittenIsFound) {
  Draw draw(8);
  const Defect unwritten = [](std::vector<std::vector<std::byte>>& outputs) {
    std::fill_n(outputs[0].data() + 4 * 70 * 30, 4 * 16, std::byte{0xFF});
  };
  EXPECT_NE(failures_of(linear_problem(draw, Shape{600, 20}, 70, {}, true), unwritten), "");
}

}  // namespace
}  // namespace headway::backend
