// Every fusion pass keeps losses, gradients and updated parameters to rounding in fp64.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/reference/reference.h"
#include "base/error.h"
#include "graph/ops/activation.h"
#include "graph/ops/arithmetic.h"
#include "graph/passes/pass.h"
#include "tests/ops/pass_models.h"

namespace headway::ops_test {
namespace {

namespace reference = backend::reference;

testing::AssertionResult same(const std::string& what, const Tensor& before, const Tensor& after) {
  if (before.size() != after.size()) return testing::AssertionFailure() << what << ": sizes differ";
  double largest = 0;
  for (const double element : before) largest = std::max(largest, std::fabs(element));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!(std::fabs(before[i] - after[i]) <= 1e-12 * largest + 1e-15)) {
      return testing::AssertionFailure() << what << "[" << i << "] was " << before[i] << ", now " << after[i];
    }
  }
  return testing::AssertionSuccess();
}

// Everything that a training step leaves behind: outputs, and parameters and states after their updates.
testing::AssertionResult equivalent(const graph::Graph& before, const graph::Graph& after,
                                    const std::map<std::string, Tensor>& given) {
  const reference::Values old_values = reference::evaluate(before, given);
  const reference::Values new_values = reference::evaluate(after, given);
  for (const auto& [name, id] : before.outputs()) {
    const auto result = same(name, old_values.at(id), new_values.at(name));
    if (!result) return result;
  }
  for (std::size_t index = 0; index < before.values().size(); ++index) {
    const graph::Value& value = before.values()[index];
    if (value.producer != graph::kNoNode) continue;
    if (value.role != graph::Role::kParameter && value.role != graph::Role::kState) continue;
    const auto id = static_cast<graph::ValueId>(index);
    const auto result = same("updated " + value.name, old_values.updated(id), new_values.updated(id));
    if (!result) return result;
  }
  return testing::AssertionSuccess();
}

class PassesOn : public testing::TestWithParam<PassModel> {};

TEST_P(PassesOn, EachAloneChangesNothing) {
  for (const graph::Pass& pass : graph::all_passes()) {
    GraphMaker maker(1);
    build_step(maker, GetParam());
    graph::Graph after = maker.graph();
    pass.run(after);
    graph::verify(after);
    EXPECT_TRUE(equivalent(maker.graph(), after, maker.given())) << pass.name << "\n" << graph::to_string(after);
  }
}

TEST_P(PassesOn, AllTogetherAndAllButOneChangeNothing) {
  std::vector<std::vector<std::string>> left_out = {{}};
  for (const graph::Pass& pass : graph::all_passes()) left_out.push_back({std::string(pass.name)});
  for (const std::vector<std::string>& without : left_out) {
    GraphMaker maker(2);
    build_step(maker, GetParam());
    graph::Graph after = maker.graph();
    graph::run_passes(after, without);
    EXPECT_TRUE(equivalent(maker.graph(), after, maker.given()))
        << "without " << (without.empty() ? "none" : without[0]) << "\n"
        << graph::to_string(after);
  }
}

TEST_P(PassesOn, ASecondRunChangesNothing) {
  GraphMaker maker(3);
  build_step(maker, GetParam());
  graph::Graph twice = maker.graph();
  graph::run_passes(twice, {});
  graph::run_passes(twice, {});
  EXPECT_TRUE(equivalent(maker.graph(), twice, maker.given()));
}

// The comparison must be able to fail: each gradient of an activation in turn is that of another activation.
TEST_P(PassesOn, PlantedDefectsAreSeen) {
  GraphMaker maker(1);
  build_step(maker, GetParam());
  graph::Graph broken = maker.graph();
  std::vector<graph::Node> nodes = broken.nodes();
  int planted = 0;
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    if (nodes[index].op != &graph::activation_grad_op()) continue;
    std::vector<graph::Node> corrupt = nodes;
    auto attributes = graph::ActivationGradAttributes::from(nodes[index].attributes);
    attributes.kind = attributes.kind == graph::Activation::kRelu ? graph::Activation::kNone : graph::Activation::kRelu;
    corrupt[index].attributes = attributes.to_attributes();
    broken.set_nodes(std::move(corrupt));
    EXPECT_FALSE(equivalent(maker.graph(), broken, maker.given())) << nodes[index].name;
    ++planted;
  }
  EXPECT_GT(planted, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, PassesOn, testing::ValuesIn(pass_models().begin(), pass_models().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Passes, EachFindsItsPatternSomewhere) {
  for (const graph::Pass& pass : graph::all_passes()) {
    std::int64_t rewrites = 0;
    for (const PassModel& model : pass_models()) {
      GraphMaker maker(1);
      build_step(maker, model);
      if (pass.name == "remove_dead") graph::scale(maker.graph(), maker.graph().outputs()[0].second, 2);
      rewrites += pass.run(maker.graph());
    }
    EXPECT_GT(rewrites, 0) << pass.name;
  }
}

TEST(Passes, AnUnknownNameIsTheUsersError) {
  graph::Graph graph;
  try {
    graph::run_passes(graph, {"fuse_optimiser"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("fuse_optimizer"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace headway::ops_test
