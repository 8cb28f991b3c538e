#include "graph/ops/concat.h"
#include "tests/ops/cases.h"

namespace headway::ops_test {

void concat_cases(CaseMaker& maker) {
  const auto join = [&](std::int64_t axis, const std::vector<Shape>& shapes) -> OpCase& {
    std::vector<Operand> parts;
    for (const Shape& shape : shapes) parts.push_back(maker.floats(shape));
    return maker.add(graph::ConcatAttributes{axis}.to_attributes(), std::move(parts));
  };
  join(0, {{3}});
  join(0, {{3}, {1}, {0}, {5}});
  join(1, {{2, 3}, {2, 1}});
  join(0, {{2, 3}, {5, 3}});
  join(1, {{0, 3}, {0, 4}});
  join(1, {{2, 3, 5}, {2, 4, 5}, {2, 1, 5}});
  join(2, {{2, 3, 5}, {2, 3, 7}});
  join(3, {{2, 3, 2, 64}, {2, 3, 2, 64}, {2, 3, 2, 64}});
  join(1, {{701, 515}, {701, 3}}).large = true;
  join(0, {{130, 515}, {2, 515}, {1, 515}}).large = true;
}

namespace {

struct Cut {
  Shape shape;
  graph::SliceAttributes slice;
  bool large = false;
};

std::vector<Cut> cuts() {
  return {{{5}, {0, 0, 5}},
          {{5}, {0, 2, 1}},
          {{5}, {0, 3, 0}},
          {{0, 4}, {1, 1, 2}},
          {{4, 7}, {0, 1, 2}},
          {{4, 7}, {1, 3, 4}},
          {{2, 6, 5}, {1, 5, 1}},
          {{2, 6, 5}, {2, 0, 3}},
          {{3, 4, 2, 33}, {1, 1, 2}},
          {{701, 515}, {1, 7, 500}, true},
          {{701, 515}, {0, 300, 401}, true},
          {{2, 90001}, {1, 5, 80000}, true}};
}

}  // namespace

void slice_cases(CaseMaker& maker) {
  for (const Cut& cut : cuts()) maker.add(cut.slice.to_attributes(), {maker.floats(cut.shape)}).large = cut.large;
}

void slice_grad_cases(CaseMaker& maker) {
  for (const Cut& cut : cuts()) {
    std::vector<std::int64_t> dims = cut.shape.dims();
    dims[static_cast<std::size_t>(cut.slice.axis)] = cut.slice.length;
    maker.add(graph::SliceGradAttributes{cut.slice, cut.shape.dims()}.to_attributes(), {maker.floats(Shape(dims))})
        .large = cut.large;
  }
}

}  // namespace headway::ops_test
