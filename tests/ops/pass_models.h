// Small models that hold every pattern a fusion pass looks for.
#pragma once

#include <span>
#include <string_view>

#include "graph/ops/optimizer.h"
#include "tests/ops/gradient_check.h"

namespace headway::ops_test {

struct PassModel {
  std::string_view name;
  graph::ValueId (*build)(GraphMaker& maker);  // returns the loss
  graph::OptimizerSpec optimizer;
};

std::span<const PassModel> pass_models();

// The whole training step: forward, backward, update; loss and gradients ("gradient 0", ...) are outputs, and the maker
// has values for everything that is given.
void build_step(GraphMaker& maker, const PassModel& model);

}  // namespace headway::ops_test
