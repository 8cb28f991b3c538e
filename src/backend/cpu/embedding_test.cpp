#include "graph/ops/embedding.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

struct Table {
  std::int64_t rows, columns;
  Shape ids;
};

const std::vector<Table> kTables = {{5, 1, {3}},    {1, 7, {2, 2}}, {256, 48, {8, 33}}, {7, 200, {1000}},
                                    {100, 64, {0}}, {3, 16, {}},    {40, 1000, {50}}};

TEST(EmbeddingKernel, AgreesWithTheReference) {
  for (const Table& table : kTables) {
    Draw draw(1);
    // Ids a little outside too: rows of NaN.
    const Case test{graph::embedding_op(),
                    {},
                    {f32({table.rows, table.columns}), i32(table.ids)},
                    {draw.normal(table.rows * table.columns), draw.whole(table.ids.elements(), -1, table.rows + 1)}};
    EXPECT_EQ(report_of(test), "");
  }
}

TEST(EmbeddingKernel, GradientAgreesWithTheReference) {
  for (const Table& table : kTables) {
    Draw draw(2);
    std::vector<std::int64_t> dims = table.ids.dims();
    dims.push_back(table.columns);
    const Case test{
        graph::embedding_grad_op(),
        graph::EmbeddingGradAttributes{table.rows}.to_attributes(),
        {f32(Shape(dims)), i32(table.ids)},
        {draw.normal(table.ids.elements() * table.columns), draw.whole(table.ids.elements(), -1, table.rows + 1)},
        20};
    EXPECT_EQ(report_of(test), "");
  }
}

// The order is that of ids: 2^24 + 1 + 1 - 2^24 is 0 or 2, depending on it.
TEST(EmbeddingKernel, GradientSumsInTheOrderOfIds) {
  constexpr double kLarge = 16777216;
  const auto sum = [](const Tensor& dy) {
    return outputs_of({graph::embedding_grad_op(),
                       graph::EmbeddingGradAttributes{2}.to_attributes(),
                       {f32({4, 1}), i32({4})},
                       {dy, {1, 1, 1, 1}}})[0][1];
  };
  EXPECT_EQ(sum({kLarge, 1, 1, -kLarge}), 0);
  EXPECT_EQ(sum({1, 1, kLarge, -kLarge}), 2);
}

TEST(EmbeddingKernel, PositionsAgreeWithTheReference) {
  for (const auto& [x, rows] : std::vector<std::pair<Shape, std::int64_t>>{
           {{1, 1}, 1}, {{3, 5}, 8}, {{2, 7, 33}, 7}, {{0, 4, 8}, 9}, {{2, 0, 8}, 3}, {{3, 100, 300}, 120}}) {
    Draw draw(3);
    const Case test{graph::position_embedding_op(),
                    {},
                    {f32(x), f32({rows, x[-1]})},
                    {draw.normal(x.elements()), draw.normal(rows * x[-1])}};
    EXPECT_EQ(report_of(test), "");
    const Case gradient{graph::position_embedding_grad_op(),
                        graph::EmbeddingGradAttributes{rows}.to_attributes(),
                        {f32(x)},
                        {draw.normal(x.elements())},
                        20};
    EXPECT_EQ(report_of(gradient), "");
  }
}

}  // namespace
}  // namespace headway::backend::testing
