// What an operation is, apart from how a device runs it: its shapes, its gradient, its sharding rule, its cost.
//
// Each op has one home, src/graph/ops/x.{h,cpp}; src/graph/ops/all.cpp lists them. docs/add_an_op.md is the recipe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "base/units.h"
#include "graph/attributes.h"

namespace headway::graph {

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  Bytes bytes() const { return Bytes(size_of(dtype) * shape.elements()); }
  bool operator==(const TensorType&) const = default;
};

// "f32[64, 128]".
std::string to_string(const TensorType& type);

using Types = std::span<const TensorType>;

// What one execution takes, for MFU and for the cost models. Memory traffic counts every operand once.
struct OpCost {
  Flops flops;  // 2 per multiply-add of a matmul, convolution or recurrent product; 0 for everything else
  Bytes read;
  Bytes written;
  // The matrix products inside, each m x n x k, `count` times; empty for others. The cost model looks rates up by
  // shape.
  struct Product {
    std::int64_t m = 0, n = 0, k = 0, count = 1;
  };
  std::vector<Product> products;
};

// How a node can be split over ranks, einsum-like: every axis of every operand carries a factor; axes with the same
// factor are split together. An output without the split factor is a partial sum, to be added over the ranks, when an
// input with the factor shares an axis with it or when it is a scalar; otherwise every rank computes all of it.
// `whole` factors cannot be split (the normalised axis of a LayerNorm).
struct ShardingRule {
  std::vector<std::vector<int>> inputs;   // factor of each axis
  std::vector<std::vector<int>> outputs;  // factor of each axis
  std::vector<int> whole;
};

// Output `output` is written over input `input`: an in-place update of a parameter or of optimizer state.
struct Alias {
  std::int64_t output = 0;
  std::int64_t input = 0;
};

class GradientContext;

class Op {
 public:
  virtual ~Op() = default;

  virtual std::string_view name() const = 0;

  // Types of the outputs. Throws UserError "matmul: inner sizes differ: [64, 128] x [256, 10]" on impossible operands.
  virtual std::vector<TensorType> infer(const Attributes& attributes, Types inputs) const = 0;

  virtual OpCost cost(const Attributes& attributes, Types inputs, Types outputs) const = 0;

  virtual ShardingRule sharding(const Attributes& attributes, Types inputs) const = 0;

  // Adds the nodes of the gradient and returns the gradient of each input, kNoValue where there is none.
  // The default is for ops that are never differentiated: InternalError.
  virtual std::vector<ValueId> gradient(GradientContext& context) const;

  virtual std::vector<Alias> aliases(const Attributes& attributes, std::int64_t inputs) const;

  // True when the only output is the only input's bytes under another shape: no task, no buffer.
  virtual bool is_view() const { return false; }
};

// Helpers that most ops share.
OpCost memory_cost(Types inputs, Types outputs);                  // no flops; every operand once
ShardingRule pointwise_rule(Types inputs, std::int64_t outputs);  // equal shapes, all axes splittable
ShardingRule replicated_rule(Types inputs, Types outputs);        // nothing can be split
[[noreturn]] void fail_shapes(std::string_view op, const std::string& why, Types inputs);

// Checks used by infer(); `op` opens the message.
void require_inputs(std::string_view op, Types inputs, std::size_t least, std::size_t most);
void require_dtype(std::string_view op, Types inputs, std::size_t index, DType dtype);
void require_rank(std::string_view op, Types inputs, std::size_t index, std::int64_t least, std::int64_t most);

}  // namespace headway::graph
