#include "graph/ops/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/kernel_harness.h"

namespace headway::backend::testing {
namespace {

const std::vector<std::vector<Shape>> kParameterSets = {{Shape{1}},
                                                        {Shape{0}, Shape{3}},
                                                        {Shape{5, 7}, Shape{5}, Shape{}, Shape{8192}},
                                                        {Shape{100, 333}, Shape{2}, Shape{20000}}};

std::vector<std::int64_t> alternate_mask(std::size_t count) {
  std::vector<std::int64_t> mask;
  for (std::size_t i = 0; i < count; ++i) mask.push_back(i % 2 == 0 ? 1 : 0);
  return mask;
}

void add_operand(Case& test, const Shape& shape, Tensor values) {
  test.types.push_back(f32(shape));
  test.inputs.push_back(std::move(values));
}

Case adamw(const std::vector<Shape>& shapes, double clip, double norm) {
  graph::AdamWAttributes attributes;
  attributes.beta2 = 0.95;
  attributes.clip = clip;
  attributes.grad_scale = 0.25;
  attributes.weight_decay = 0.1;
  attributes.decay_mask = alternate_mask(shapes.size());
  Case test{graph::adamw_op(), attributes.to_attributes(), {}, {}};
  add_operand(test, {4}, {0.0625, 0.271, 0.142625, 0});
  for (double& value : test.inputs[0]) value = static_cast<float>(value);
  if (clip > 0) add_operand(test, {}, {norm});
  Draw draw(1);
  for (const Shape& shape : shapes) {
    const std::int64_t count = shape.elements();
    for (int operand = 0; operand < 3; ++operand) add_operand(test, shape, draw.normal(count));
    Tensor second = draw.normal(count);
    for (double& value : second) value = static_cast<float>(value * value);
    add_operand(test, shape, second);
  }
  return test;
}

TEST(AdamWKernel, AgreesWithTheReference) {
  for (const std::vector<Shape>& shapes : kParameterSets) {
    EXPECT_EQ(report_of(adamw(shapes, 0, 0)), "");
    EXPECT_EQ(report_of(adamw(shapes, 1, 0.5)), "");  // not clipped
    EXPECT_EQ(report_of(adamw(shapes, 1, 8)), "");
  }
}

// A zero gradient with zero moments moves nothing but the decay, and a norm of NaN is not hidden.
TEST(AdamWKernel, TakesSpecialValues) {
  Case test = adamw({Shape{2}}, 0, 0);
  test.inputs[2] = test.inputs[3] = test.inputs[4] = {0, 0};
  const Tensor p = outputs_of(test)[0];
  EXPECT_EQ(p[0], static_cast<float>(test.inputs[1][0]) * static_cast<float>(1 - 0.0625 * 0.1));
  EXPECT_TRUE(std::isnan(outputs_of(adamw({Shape{2}}, 1, NAN))[0][0]));
}

// All parameters at once, as the fused update, give the bits of one kernel per parameter.
TEST(AdamWKernel, DoesNotDependOnHowParametersAreGrouped) {
  const Case all = adamw({Shape{100, 333}, Shape{3}}, 1, 8);
  Case second = all;
  auto attributes = graph::AdamWAttributes::from(all.attributes);
  attributes.decay_mask = {0};
  second.attributes = attributes.to_attributes();
  second.types.erase(second.types.begin() + 2, second.types.begin() + 6);
  second.inputs.erase(second.inputs.begin() + 2, second.inputs.begin() + 6);
  const std::vector<Tensor> together = outputs_of(all), alone = outputs_of(second);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(together[3 + i], alone[i]);
}

TEST(SgdKernel, AgreesWithTheReference) {
  for (const std::vector<Shape>& shapes : kParameterSets) {
    for (const double momentum : {0.0, 0.9}) {
      for (const double clip : {0.0, 1.0}) {
        graph::SgdAttributes attributes;
        attributes.momentum = momentum;
        attributes.clip = clip;
        attributes.grad_scale = 0.5;
        attributes.weight_decay = 0.01;
        attributes.decay_mask = alternate_mask(shapes.size());
        Case test{graph::sgd_op(), attributes.to_attributes(), {}, {}};
        add_operand(test, {4}, {0.125, 0, 0, 0});
        if (clip > 0) add_operand(test, {}, {3});
        Draw draw(2);
        for (const Shape& shape : shapes) {
          for (int operand = 0; operand < (momentum > 0 ? 3 : 2); ++operand) {
            add_operand(test, shape, draw.normal(shape.elements()));
          }
        }
        EXPECT_EQ(report_of(test), "");
      }
    }
  }
}

TEST(GradNormKernel, AgreesWithTheReference) {
  for (const std::vector<Shape>& shapes : kParameterSets) {
    Case test{graph::grad_norm_op(), graph::GradNormAttributes{0.125}.to_attributes(), {}, {}};
    Draw draw(3);
    for (const Shape& shape : shapes) add_operand(test, shape, draw.normal(shape.elements()));
    EXPECT_EQ(report_of(test), "");
  }
}

// f64 inside: squares beyond the range of f32 count, and so does a 1 beside a 10^6.
TEST(GradNormKernel, TakesLargeAndSmallValues) {
  const auto norm = [](const Tensor& values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return outputs_of(
        {graph::grad_norm_op(), graph::GradNormAttributes{1}.to_attributes(), {f32(shape)}, {values}})[0][0];
  };
  EXPECT_EQ(norm({static_cast<float>(3e30), static_cast<float>(4e30)}), static_cast<float>(5e30));
  EXPECT_EQ(norm({INFINITY, 1}), INFINITY);
  EXPECT_TRUE(std::isnan(norm({NAN, 1})));
}

}  // namespace
}  // namespace headway::backend::testing
