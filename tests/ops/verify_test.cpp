// verify() sees planted corruption of a graph.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "graph/ops/optimizer.h"
#include "graph/ops/shape_ops.h"
#include "tests/ops/gradient_check.h"

namespace headway::ops_test {
namespace {

using graph::ValueId;

// A training step of one layer; forward is linear, activation, mse.
struct Step {
  graph::Graph graph;
  ValueId weight = graph::kNoValue, hidden = graph::kNoValue, loss = graph::kNoValue;
};

Step make_step() {
  Step step;
  const ValueId x = step.graph.add_input("x", {DType::kF32, {4, 3}});
  const ValueId target = step.graph.add_input("target", {DType::kF32, {4, 5}});
  step.weight = step.graph.add_parameter("w", {5, 3}, {});
  step.hidden = graph::linear(step.graph, x, step.weight);
  step.loss = graph::mse(step.graph, graph::activation(step.graph, step.hidden, graph::Activation::kGeluErf), target);
  step.graph.add_output("loss", step.loss);
  graph::add_optimizer(step.graph, graph::differentiate(step.graph, step.loss), {});
  return step;
}

void expect_rejected(const graph::Graph& graph, const std::string& why) {
  try {
    graph::verify(graph);
    ADD_FAILURE() << "accepted; expected: " << why;
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(Verify, AcceptsATrainingStep) {
  const Step step = make_step();
  EXPECT_NO_THROW(graph::verify(step.graph));
}

TEST(Verify, AValueThatNobodyMakes) {
  Step step = make_step();
  std::vector<graph::Node> nodes = step.graph.nodes();
  nodes[1].inputs[0] = step.graph.new_value("ghost", {DType::kF32, {4, 5}});
  step.graph.set_nodes(std::move(nodes));
  expect_rejected(step.graph, "before it is made");
}

TEST(Verify, AMissingProducer) {
  Step step = make_step();
  std::vector<graph::Node> nodes = step.graph.nodes();
  nodes.erase(nodes.begin());
  step.graph.set_nodes(std::move(nodes));
  expect_rejected(step.graph, "before it is made");
}

TEST(Verify, AValueMadeTwice) {
  Step step = make_step();
  std::vector<graph::Node> nodes = step.graph.nodes();
  nodes.push_back(nodes[0]);
  step.graph.set_nodes(std::move(nodes));
  expect_rejected(step.graph, "again");
}

TEST(Verify, AnOutputOfAnotherType) {
  Step step = make_step();
  std::vector<graph::Node> nodes = step.graph.nodes();
  nodes[1].outputs[0] = step.graph.new_value("wrong", {DType::kF32, {5, 4}});
  step.graph.set_nodes(std::move(nodes));
  EXPECT_THROW(graph::verify(step.graph), InternalError);
}

TEST(Verify, AnOutputTooMany) {
  Step step = make_step();
  std::vector<graph::Node> nodes = step.graph.nodes();
  nodes[1].outputs.push_back(step.graph.new_value("extra", {DType::kF32, {4, 5}}));
  step.graph.set_nodes(std::move(nodes));
  expect_rejected(step.graph, "outputs");
}

TEST(Verify, AReadAfterAnInPlaceUpdate) {
  Step step = make_step();
  graph::scale(step.graph, step.weight, 2);
  expect_rejected(step.graph, "overwritten");
}

TEST(Verify, AViewReadAfterAnInPlaceUpdateOfItsBytes) {
  Step step;
  step.weight = step.graph.add_parameter("w", {5, 3}, {});
  const ValueId view = graph::reshape(step.graph, step.weight, {15});
  const ValueId gradient = step.graph.add_input("g", {DType::kF32, {5, 3}});
  graph::add_optimizer(step.graph, {gradient}, {});
  graph::scale(step.graph, view, 2);
  expect_rejected(step.graph, "overwritten");
}

TEST(Verify, SetNodesPutsAnUpdateAfterTheReadersOfAView) {
  Step step;
  step.weight = step.graph.add_parameter("w", {5, 3}, {});
  const ValueId view = graph::reshape(step.graph, step.weight, {15});
  graph::scale(step.graph, view, 2);
  graph::add_optimizer(step.graph, {step.graph.add_input("g", {DType::kF32, {5, 3}})}, {});
  std::vector<graph::Node> nodes = step.graph.nodes();
  std::reverse(nodes.begin(), nodes.end());
  step.graph.set_nodes(std::move(nodes));
  EXPECT_NO_THROW(graph::verify(step.graph));
  EXPECT_EQ(step.graph.nodes().back().op, &graph::adamw_op());
}

TEST(Verify, AnOutputThatNobodyMakes) {
  Step step = make_step();
  step.graph.add_output("ghost", step.graph.new_value("ghost", {DType::kF32, {}}));
  expect_rejected(step.graph, "never made");
}

TEST(Verify, AnOutputThatIsOverwritten) {
  Step step = make_step();
  step.graph.add_output("weight", step.weight);
  expect_rejected(step.graph, "overwritten");
}

TEST(Verify, ACycleIsRefusedWhenNodesAreSet) {
  Step step = make_step();
  std::vector<graph::Node> nodes = step.graph.nodes();
  nodes[0].inputs[0] = nodes[1].outputs[0];
  EXPECT_THROW(step.graph.set_nodes(std::move(nodes)), InternalError);
}

TEST(Verify, SetNodesPutsAnUpdateAfterEveryReader) {
  Step step = make_step();
  std::vector<graph::Node> nodes = step.graph.nodes();
  std::reverse(nodes.begin(), nodes.end());
  step.graph.set_nodes(std::move(nodes));
  EXPECT_NO_THROW(graph::verify(step.graph));
}

TEST(Verify, TheTextNamesEveryNode) {
  const Step step = make_step();
  const std::string text = graph::to_string(step.graph);
  for (const graph::Node& node : step.graph.nodes()) {
    EXPECT_NE(text.find(std::string(node.op->name()) + "("), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace headway::ops_test
