// Costs against closed forms counted by hand.
#include <gtest/gtest.h>

#include <set>

#include "graph/autodiff.h"
#include "graph/ops/all.h"
#include "graph/ops/attention.h"
#include "graph/ops/concat.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/embedding.h"
#include "graph/ops/linear.h"
#include "graph/ops/loss.h"
#include "graph/ops/shape_ops.h"
#include "tests/ops/op_case.h"

namespace headway::ops_test {
namespace {

graph::OpCost cost_of(const graph::Op& op, const graph::Attributes& attributes, std::vector<Shape> shapes) {
  std::vector<graph::TensorType> inputs;
  for (Shape& shape : shapes) inputs.push_back({DType::kF32, std::move(shape)});
  return op.cost(attributes, inputs, op.infer(attributes, inputs));
}

TEST(Cost, ProductsByHand) {
  const auto linear = graph::LinearAttributes{}.to_attributes();
  // 2 x 3 rows, each 5 outputs of 4 multiply-adds; the bias is no multiply-add.
  EXPECT_EQ(cost_of(graph::linear_op(), linear, {{2, 3, 4}, {5, 4}, {5}}).flops.value, 2 * 6 * 5 * 4);
  EXPECT_EQ(cost_of(graph::linear_op(), linear, {{4}, {5, 4}}).flops.value, 2 * 1 * 5 * 4);
  // Six products of 3 x 4 by 4 x 5, whichever operand is transposed.
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Shape a = transpose_a ? Shape{2, 3, 4, 3} : Shape{2, 3, 3, 4};
      const Shape b = transpose_b ? Shape{2, 3, 5, 4} : Shape{2, 3, 4, 5};
      const auto attributes = graph::MatmulAttributes{transpose_a, transpose_b, false}.to_attributes();
      EXPECT_EQ(cost_of(graph::matmul_op(), attributes, {a, b}).flops.value, 6 * 2 * 3 * 4 * 5);
    }
  }
  const auto rows = graph::MatmulAttributes{false, false, true}.to_attributes();
  EXPECT_EQ(cost_of(graph::matmul_op(), rows, {{2, 3, 4}, {4, 5}}).flops.value, 2 * 6 * 4 * 5);
  const auto sum = graph::MatmulAttributes{true, false, true}.to_attributes();
  EXPECT_EQ(cost_of(graph::matmul_op(), sum, {{2, 3, 4}, {2, 3, 5}}).flops.value, 2 * 4 * 5 * 6);
}

TEST(Cost, ConvolutionsByHand) {
  // 2 images, 3 x 3 outputs (5 - 3 + 1) of 4 channels, each 3 * 3 * 7 multiply-adds.
  const double flops = 2.0 * 2 * 3 * 3 * 4 * 3 * 3 * 7;
  const graph::Conv2dAttributes conv;
  EXPECT_EQ(cost_of(graph::conv2d_op(), conv.to_attributes(), {{2, 5, 5, 7}, {4, 7, 3, 3}, {4}}).flops.value, flops);
  // Both gradients pair the same elements.
  const auto grad_input = graph::Conv2dGradInputAttributes{conv, {2, 5, 5, 7}}.to_attributes();
  EXPECT_EQ(cost_of(graph::conv2d_grad_input_op(), grad_input, {{2, 3, 3, 4}, {4, 7, 3, 3}}).flops.value, flops);
  const auto grad_weight = graph::Conv2dGradWeightAttributes{conv, {3, 3}, true}.to_attributes();
  EXPECT_EQ(cost_of(graph::conv2d_grad_weight_op(), grad_weight, {{2, 3, 3, 4}, {2, 5, 5, 7}}).flops.value, flops);
  // Stride 2, padding 1, dilation 2: (9 + 2 - 5) / 2 + 1 = 4 outputs a side.
  graph::Conv2dAttributes strided;
  strided.stride = {2, 2};
  strided.padding = {1, 1};
  strided.dilation = {2, 2};
  EXPECT_EQ(cost_of(graph::conv2d_op(), strided.to_attributes(), {{1, 9, 9, 1}, {1, 1, 3, 3}}).flops.value,
            2.0 * 4 * 4 * 9);
}

TEST(Cost, AttentionByHand) {
  // 2 batches, 3 heads of size 4, 5 positions: scores and values are 5 x 5 x 4 products each; causal counts half.
  const double product = 2.0 * 2 * 3 * 5 * 5 * 4;
  for (const bool causal : {false, true}) {
    const auto attributes = graph::AttentionAttributes{3, causal}.to_attributes();
    const double share = causal ? 0.5 : 1;
    EXPECT_EQ(cost_of(graph::attention_op(), attributes, {{2, 5, 36}}).flops.value, 2 * product * share);
    const auto grad = cost_of(graph::attention_grad_op(), attributes, {{2, 5, 12}, {2, 5, 36}, {2, 5, 12}, {2, 3, 5}});
    EXPECT_EQ(grad.flops.value, 4 * product * share);
  }
}

TEST(Cost, OthersHaveNoFlopsAndProductsAddUp) {
  const std::set<std::string_view> counted = {"linear",
                                              "matmul",
                                              "conv2d",
                                              "conv2d_grad_input",
                                              "conv2d_grad_weight",
                                              "attention",
                                              "attention_grad",
                                              "recurrent",
                                              "recurrent_grad",
                                              "grouped_linear",
                                              "grouped_linear_grad_input",
                                              "grouped_linear_grad_weight"};
  for (const OpCase& test : all_small_cases()) {
    const graph::OpCost cost = test.op->cost(test.attributes, test.input_types, test.output_types);
    if (!counted.contains(test.op->name())) {
      EXPECT_EQ(cost.flops.value, 0) << test.label;
      EXPECT_TRUE(cost.products.empty()) << test.label;
    }
    double flops = 0;
    for (const graph::OpCost::Product& product : cost.products) {
      flops += 2.0 * static_cast<double>(product.m * product.n * product.k * product.count);
    }
    if (cost.products.empty()) flops = cost.flops.value;
    EXPECT_EQ(flops, cost.flops.value) << test.label;
  }
}

TEST(Cost, EveryOperandIsReadOrWrittenOnce) {
  for (const OpCase& test : all_small_cases()) {
    const graph::OpCost cost = test.op->cost(test.attributes, test.input_types, test.output_types);
    Bytes read, written;
    for (const graph::TensorType& type : test.input_types) read += type.bytes();
    for (const graph::TensorType& type : test.output_types) written += type.bytes();
    // A view moves nothing; embeddings read only the rows that are asked for, a slice its part.
    if (test.op == &graph::reshape_op()) read = written = Bytes(0);
    if (test.op == &graph::embedding_op()) read = test.input_types[1].bytes() + test.output_types[0].bytes();
    if (test.op == &graph::slice_op()) read = written;
    if (test.op == &graph::position_embedding_op()) {
      const Shape& x = test.input_types[0].shape;
      read = test.input_types[0].bytes() + Bytes(4 * x[-2] * x[-1]);
    }
    EXPECT_EQ(cost.read, read) << test.label;
    EXPECT_EQ(cost.written, written) << test.label;
  }
}

TEST(Cost, ATrainingStepOfOneLayerIsThreeProducts) {
  graph::Graph graph;
  const graph::ValueId x = graph.add_parameter("x", {8, 3}, {});
  const graph::ValueId y = graph::linear(graph, x, graph.add_parameter("w", {5, 3}, {}));
  const graph::ValueId loss = graph::mse(graph, y, graph.add_input("t", {DType::kF32, {8, 5}}));
  EXPECT_EQ(graph::total_flops(graph).value, 2 * 8 * 3 * 5);
  graph::differentiate(graph, loss);
  EXPECT_EQ(graph::total_flops(graph).value, 3 * 2 * 8 * 3 * 5);
}

}  // namespace
}  // namespace headway::ops_test
