// Gradients made by differentiate(), evaluated in fp64, against finite differences of the forward pass.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tests/ops/random.h"

namespace headway::ops_test {

// Builds a small graph with values for everything that the caller gives.
class GraphMaker {
 public:
  explicit GraphMaker(std::uint64_t seed) : random_(seed) {}

  graph::Graph& graph() { return graph_; }
  Random& random() { return random_; }
  const std::map<std::string, Tensor>& given() const { return given_; }

  graph::ValueId parameter(const Shape& shape, double low = -2, double high = 2);
  graph::ValueId parameter_of(const Shape& shape, Tensor values);
  graph::ValueId statistic(const Shape& shape);  // a parameter that is not trained
  graph::ValueId input(const Shape& shape, double low = -2, double high = 2);
  graph::ValueId ids(const Shape& shape, std::int64_t low, std::int64_t high);
  graph::ValueId ids_of(Tensor values);
  // Gives "position" (see dropout.h) its values; for graphs that use it.
  void set_position(std::int64_t seed, std::int64_t step, std::int64_t micro_batch, std::int64_t first_sample);
  // Random values for every state, a learning rate and bias corrections for "hyper", a place for "position".
  void give_the_rest();
  // The mean squared error of y against random numbers: every element of y gets a gradient of its own.
  graph::ValueId loss_of(graph::ValueId y);

 private:
  graph::Graph graph_;
  Random random_;
  std::map<std::string, Tensor> given_;
  int names_ = 0;
};

struct GradientRow {
  const graph::Op& (*op)();
  int variants;
  graph::ValueId (*build)(GraphMaker& maker, int variant);  // returns the loss
};

// Every op that can be differentiated, in the order of gradient_rows.cpp.
std::span<const GradientRow> gradient_rows();

// What a planted defect does to the gradients of the parameters, or to the differentiated graph.
struct Tamper {
  std::function<void(std::vector<Tensor>& gradients)> gradients;
  std::function<void(graph::Graph& graph)> graph;
};

// Compares the gradient of every parameter, up to 48 elements of each, with central differences of fourth order:
//   f'(x) = (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / (12 h) + O(h^4 f^(5)).
testing::AssertionResult gradients_match(GraphMaker& maker, graph::ValueId loss, const Tamper& tamper = {});

}  // namespace headway::ops_test
