#include <cmath>

#include "graph/ops/recurrent.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {
namespace {

using graph::Cell;

struct RecurrentSize {
  std::int64_t batch, steps, features, hidden;
  bool large = false;
};

std::vector<RecurrentSize> recurrent_sizes(Random& random) {
  return {{1, 1, 1, 1},
          {3, 1, 4, 5},
          {1, 6, 3, 16},
          {0, 3, 2, 4},
          {2, 4, 3, 17},
          {7, 5, 20, 8},
          {5, 3, 0, 6},
          {13, 3, 70, 33},
          {random.integer(1, 20), random.integer(1, 6), random.integer(1, 30), random.integer(1, 40)},
          {85, 7, 20, 64, true},
          {131, 4, 70, 66, true}};
}

// x and weights such that the sums of a cell are of size 1.
std::vector<Operand> operands(CaseMaker& maker, Cell cell, const RecurrentSize& at) {
  const std::int64_t rows = graph::gates_of(cell) * at.hidden;
  const double spread = 2 / std::sqrt(static_cast<double>(at.features + at.hidden));
  return {maker.floats({at.batch, at.steps, at.features}), maker.floats({rows, at.features}, -spread, spread),
          maker.floats({rows, at.hidden}, -spread, spread), maker.floats({rows}, -1, 1), maker.floats({rows}, -1, 1)};
}

}  // namespace

void recurrent_cases(CaseMaker& maker) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    for (const bool last : {false, true}) {
      const graph::Attributes attributes = graph::RecurrentAttributes{cell, last}.to_attributes();
      for (const RecurrentSize& at : recurrent_sizes(maker.random())) {
        maker.add(attributes, operands(maker, cell, at)).large = at.large;
      }
    }
    // Sums of several hundred: gates are 0 and 1, and nothing overflows.
    maker.add(graph::RecurrentAttributes{cell, false}.to_attributes(),
              {maker.floats({2, 3, 4}, -90, 90), maker.floats({graph::gates_of(cell) * 3, 4}),
               maker.floats({graph::gates_of(cell) * 3, 3}), maker.floats({graph::gates_of(cell) * 3}),
               maker.floats({graph::gates_of(cell) * 3})});
  }
}

void recurrent_grad_cases(CaseMaker& maker) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    for (const int variant : {0, 1, 2, 3}) {
      const bool last = variant % 2 == 1, input_gradient = variant < 2;
      for (const RecurrentSize& at : recurrent_sizes(maker.random())) {
        const std::vector<Operand> forward = operands(maker, cell, at);
        const std::vector<Operand> saved =
            maker.run(graph::recurrent_op(), graph::RecurrentAttributes{cell, last}.to_attributes(), forward);
        std::vector<Operand> inputs = {maker.floats(saved[0].type.shape, -1, 1), forward[0], forward[1], forward[2]};
        inputs.insert(inputs.end(), saved.begin() + 1, saved.end());
        maker.add(graph::RecurrentGradAttributes{cell, last, input_gradient}.to_attributes(), std::move(inputs)).large =
            at.large;
      }
    }
  }
}

}  // namespace headway::ops_test
