#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/ops/activation.h"
#include "graph/ops/all.h"
#include "graph/ops/arithmetic.h"
#include "graph/ops/layernorm.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape_ops.h"
#include "graph/ops/softmax.h"
#include "tests/ops/gradient_check.h"

namespace headway::ops_test {
namespace {

// Ops without a gradient, on purpose: gradients of others, updates, counts, and what only gradients use.
constexpr std::string_view kNotDifferentiable[] = {
    "activation_grad",
    "swiglu_grad",
    "layernorm_grad",
    "rmsnorm_grad",
    "slice_grad",
    "batchnorm_grad",
    "softmax_grad",
    "cross_entropy_grad",
    "mse_grad",
    "bce_with_logits_grad",
    "embedding_grad",
    "position_embedding_grad",
    "grouped_linear_grad_input",
    "grouped_linear_grad_weight",
    "moe_route_grad",
    "moe_weight_grad",
    "attention_grad",
    "recurrent_grad",
    "conv2d_grad_input",
    "conv2d_grad_weight",
    "max_pool2d_grad",
    "avg_pool2d_grad",
    "count_correct",
    "fill",
    "accumulate",
    "grad_norm",
    "adamw",
    "sgd",
};

bool has_row(const graph::Op& op) {
  return std::any_of(gradient_rows().begin(), gradient_rows().end(),
                     [&](const GradientRow& row) { return &row.op() == &op; });
}

TEST(Gradients, EveryOpIsTestedOrKnownToHaveNone) {
  for (const graph::Op* op : graph::all_ops()) {
    const bool known = std::count(std::begin(kNotDifferentiable), std::end(kNotDifferentiable), op->name()) == 1;
    EXPECT_NE(has_row(*op), known) << op->name() << " needs a row in gradient_rows.cpp, or a name in the list above";
  }
}

TEST(Gradients, ReduceRefusesAnAxisThatIsNotThere) {
  graph::Graph graph;
  const graph::ValueId x = graph.add_parameter("x", {3, 2}, {});
  for (const std::int64_t axis : {-3, 2}) {
    EXPECT_THROW(graph::reduce_sum(graph, x, {0, axis}), UserError) << axis;
    EXPECT_THROW(graph::reduce_mean(graph, x, {axis}), UserError) << axis;
  }
}

TEST(Gradients, OpsWithoutOneSaySo) {
  graph::Graph graph;
  const graph::ValueId x = graph.add_parameter("x", {3, 2}, {});
  graph::GradientContext context(graph, {&graph::sum_leading_op(), {}, {x}, {x}, graph::Phase::kForward, ""}, {x},
                                 {true});
  for (const graph::Op* op : graph::all_ops()) {
    if (has_row(*op)) continue;
    EXPECT_THROW(op->gradient(context), InternalError) << op->name();
  }
}

class GradientsOf : public testing::TestWithParam<GradientRow> {};

TEST_P(GradientsOf, MatchFiniteDifferences) {
  for (int variant = 0; variant < GetParam().variants; ++variant) {
    GraphMaker maker(static_cast<std::uint64_t>(variant) + 1);
    const graph::ValueId loss = GetParam().build(maker, variant);
    const auto& nodes = maker.graph().nodes();
    ASSERT_TRUE(std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node.op == &GetParam().op(); }));
    EXPECT_TRUE(gradients_match(maker, loss)) << "variant " << variant;
  }
}

using Corruption = std::function<void(Tensor& gradient)>;

// Corrupts the gradient of one parameter of each variant; how often that changed anything. Each time it must be seen.
int plant(const GradientRow& row, const Corruption& corrupt) {
  int planted = 0;
  for (int variant = 0; variant < row.variants; ++variant) {
    GraphMaker probe(static_cast<std::uint64_t>(variant) + 1);
    static_cast<void>(row.build(probe, variant));
    for (std::size_t which = 0; which < probe.graph().parameters().size(); ++which) {
      GraphMaker maker(static_cast<std::uint64_t>(variant) + 1);
      const graph::ValueId loss = row.build(maker, variant);
      bool changed = false;
      const auto tamper = [&](std::vector<Tensor>& gradients) {
        const Tensor before = gradients.at(which);
        corrupt(gradients.at(which));
        for (std::size_t i = 0; i < before.size(); ++i) {
          changed = changed || std::fabs(before[i] - gradients.at(which)[i]) > 1e-6;
        }
      };
      const bool accepted = gradients_match(maker, loss, {tamper, {}});
      EXPECT_NE(accepted, changed) << "variant " << variant << ", parameter " << which;
      planted += changed ? 1 : 0;
    }
  }
  return planted;
}

TEST_P(GradientsOf, PlantedDefectsAreSeen) {
  const auto one_percent = [](Tensor& gradient) {
    for (double& element : gradient) element *= 1.01;
  };
  const auto zeroed = [](Tensor& gradient) { std::fill(gradient.begin(), gradient.end(), 0.0); };
  const auto dropped_rows = [](Tensor& gradient) {
    std::fill(gradient.begin() + static_cast<std::ptrdiff_t>(gradient.size() / 2), gradient.end(), 0.0);
  };
  EXPECT_GT(plant(GetParam(), one_percent), 0);
  EXPECT_GT(plant(GetParam(), zeroed), 0);
  EXPECT_GT(plant(GetParam(), dropped_rows), 0);
}

INSTANTIATE_TEST_SUITE_P(Ops, GradientsOf, testing::ValuesIn(gradient_rows().begin(), gradient_rows().end()),
                         [](const auto& row) { return std::string(row.param.op().name()); });

// A value read by three ops, one of them twice, and a weight used by two layers.
graph::ValueId build_shared(GraphMaker& maker) {
  graph::Graph& graph = maker.graph();
  const graph::ValueId x = maker.parameter({4, 5}), w = maker.parameter({5, 5}), b = maker.parameter({5});
  const graph::ValueId h = graph::activation(graph, graph::linear(graph, x, w, b), graph::Activation::kGeluTanh);
  const graph::ValueId square = graph::mul(graph, h, h);
  const graph::ValueId again = graph::linear(graph, h, w, b);
  return maker.loss_of(graph::add(graph, graph::add(graph, square, again), graph::softmax(graph, h)));
}

TEST(Gradients, ValuesUsedSeveralTimesAddUp) {
  GraphMaker maker(3);
  const graph::ValueId loss = build_shared(maker);
  EXPECT_TRUE(gradients_match(maker, loss));
}

TEST(Gradients, AUseThatIsForgottenIsSeen) {
  // Each addition of the backward pass in turn passes on its first operand only.
  GraphMaker counted(3);
  const graph::ValueId probe_loss = build_shared(counted);
  graph::Graph probe = counted.graph();
  const std::size_t forward = probe.nodes().size();
  graph::differentiate(probe, probe_loss);
  int planted = 0;
  for (std::size_t index = forward; index < probe.nodes().size(); ++index) {
    if (probe.nodes()[index].op != &graph::add_op()) continue;
    GraphMaker maker(3);
    const graph::ValueId loss = build_shared(maker);
    const auto tamper = [&](graph::Graph& graph) {
      std::vector<graph::Node> nodes = graph.nodes();
      nodes[index].op = &graph::scale_op();
      nodes[index].attributes = graph::ScaleAttributes{1}.to_attributes();
      nodes[index].inputs.pop_back();
      graph.set_nodes(std::move(nodes));
    };
    EXPECT_FALSE(gradients_match(maker, loss, {{}, tamper})) << probe.nodes()[index].name;
    ++planted;
  }
  EXPECT_GE(planted, 5);
}

TEST(Gradients, AWholeTransformerBlockMatches) {
  GraphMaker maker(11);
  graph::Graph& graph = maker.graph();
  const graph::ValueId x = maker.parameter({2, 3, 4});
  const graph::ValueId norm = graph::layernorm(graph, x, maker.parameter({4}), maker.parameter({4}));
  const graph::ValueId hidden = graph::linear(graph, norm, maker.parameter({7, 4}, -1, 1), maker.parameter({7}));
  const graph::ValueId active = graph::activation(graph, hidden, graph::Activation::kGeluErf);
  const graph::ValueId out = graph::linear(graph, active, maker.parameter({4, 7}, -1, 1), maker.parameter({4}));
  EXPECT_TRUE(gradients_match(maker, maker.loss_of(graph::add(graph, x, out))));
}

TEST(Gradients, NobodyComputesWhatNobodyWants) {
  // The gradient of x, an input, would be the only matmul without transpose_a.
  GraphMaker maker(5);
  graph::Graph& graph = maker.graph();
  const graph::ValueId x = maker.input({4, 3});
  const graph::ValueId loss = maker.loss_of(graph::linear(graph, x, maker.parameter({2, 3})));
  graph::differentiate(graph, loss);
  int products = 0;
  for (const graph::Node& node : graph.nodes()) products += node.op == &graph::matmul_op() ? 1 : 0;
  EXPECT_EQ(products, 1);
}

TEST(Gradients, AParameterThatTheLossDoesNotReadHasNone) {
  GraphMaker maker(5);
  const graph::ValueId used = maker.parameter({3});
  maker.parameter({2});
  const graph::ValueId loss = maker.loss_of(used);
  const std::vector<graph::ValueId> gradients = graph::differentiate(maker.graph(), loss);
  EXPECT_NE(gradients.at(0), graph::kNoValue);
  EXPECT_EQ(gradients.at(1), graph::kNoValue);
}

}  // namespace
}  // namespace headway::ops_test
