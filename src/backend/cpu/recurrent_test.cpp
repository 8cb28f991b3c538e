// Recurrent layers on every instruction set of this machine, beside the fp64 reference.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "backend/cpu/op_check.h"
#include "backend/cpu/recurrent_problem.h"
#include "graph/ops/recurrent.h"

namespace headway::backend {
namespace {

using graph::Cell;
using op_check::Draw;
using op_check::f32;
using op_check::Problem;
using reference::Tensor;

struct Case {
  Cell cell;
  bool last;
  std::int64_t batch, steps, features, hidden;
};

// Normal values, the weights scaled so that the sums of a cell are of size 1.
std::vector<Tensor> operands(Draw& draw, const std::vector<graph::TensorType>& types, const Case& c) {
  std::vector<Tensor> inputs;
  for (const graph::TensorType& type : types) {
    inputs.push_back(draw.normal(type.shape));
    if (inputs.size() == 1) continue;
    for (double& value : inputs.back()) {
      value = static_cast<float>(value / std::sqrt(static_cast<double>(c.features + c.hidden)));
    }
  }
  return inputs;
}

std::vector<graph::TensorType> types_of(const Case& c) {
  const std::int64_t rows = graph::gates_of(c.cell) * c.hidden;
  return {f32({c.batch, c.steps, c.features}), f32({rows, c.features}), f32({rows, c.hidden}), f32({rows}),
          f32({rows})};
}

Problem forward(const Case& c, std::uint32_t seed) {
  Draw draw(seed);
  const std::vector<graph::TensorType> types = types_of(c);
  return {graph::recurrent_op(), graph::RecurrentAttributes{c.cell, c.last}.to_attributes(), types,
          operands(draw, types, c), 2e-5};
}

// With what the forward pass saves, by the reference, rounded to f32 as a kernel gets it.
Problem backward(const Case& c, bool input_gradient, std::uint32_t seed) {
  const Problem before = forward(c, seed);
  const std::vector<graph::TensorType> saved = before.op.infer(before.attributes, before.types);
  std::vector<Tensor> values = reference::run_op(before.op, before.attributes, before.types, saved, before.inputs);
  for (Tensor& tensor : values) {
    for (double& value : tensor) value = static_cast<float>(value);
  }
  Draw draw(seed + 1);
  Problem p = {graph::recurrent_grad_op(),
               graph::RecurrentGradAttributes{c.cell, c.last, input_gradient}.to_attributes(),
               {saved[0], before.types[0], before.types[1], before.types[2]},
               {draw.normal(saved[0].shape), before.inputs[0], before.inputs[1], before.inputs[2]},
               5e-4};
  p.types.insert(p.types.end(), saved.begin() + 1, saved.end());
  p.inputs.insert(p.inputs.end(), values.begin() + 1, values.end());
  return p;
}

TEST(Recurrent, ChosenShapes) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    for (const bool last : {false, true}) {
      for (const auto& [batch, steps, features, hidden] :
           {std::array<std::int64_t, 4>{1, 1, 1, 1}, {7, 3, 5, 16}, {25, 4, 70, 17}, {50, 3, 20, 64}, {0, 2, 3, 4}}) {
        const Case c{cell, last, batch, steps, features, hidden};
        EXPECT_EQ("", op_check::failures_of(forward(c, 1)));
        EXPECT_EQ("", op_check::failures_of(backward(c, !last, 1)));
      }
    }
  }
}

// Tiles of equal size for the batches in use, and for any batch every sample in one tile.
TEST(Recurrent, TilesCoverTheBatch) {
  const auto tiles = [](std::int64_t batch) {
    return RecurrentProblem(Cell::kLstm, false, {batch, 2, 3}, {16, 4}).tiles();
  };
  EXPECT_EQ(tiles(800).tiles(), 16);
  EXPECT_EQ(tiles(800).size, 50);
  EXPECT_EQ(tiles(64).tiles(), 4);
  for (std::int64_t batch = 0; batch < 3000; ++batch) {
    std::int64_t samples = 0;
    const Grid grid = tiles(batch);
    for (std::int64_t tile = 0; tile < grid.tiles(); ++tile) samples += grid.length(tile);
    ASSERT_EQ(samples, batch);
    ASSERT_LE(grid.size, 64);
  }
}

TEST(Recurrent, PlantedDefectsAreSeen) {
  const Case c{Cell::kLstm, false, 13, 4, 6, 17};
  const auto spoil = [](std::size_t output, std::size_t element) {
    return [=](std::vector<std::vector<std::byte>>& outputs) {
      float value = 0;
      std::memcpy(&value, outputs[output].data() + 4 * element, 4);
      value += 0.01F;
      std::memcpy(outputs[output].data() + 4 * element, &value, 4);
    };
  };
  for (const std::size_t output : {0U, 1U, 2U}) EXPECT_NE("", op_check::failures_of(forward(c, 3), spoil(output, 5)));
  for (const std::size_t output : {0U, 1U, 2U, 3U, 4U}) {
    EXPECT_NE("", op_check::failures_of(backward(c, true, 3), spoil(output, 7)));
  }
}

}  // namespace
}  // namespace headway::backend
