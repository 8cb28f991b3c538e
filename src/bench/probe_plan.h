// What the probe measures: an explicit list of points, one function for each part of the cluster file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "bench/probe_point.h"
#include "graph/ops/recurrent.h"

namespace headway::bench {

// Every point, kernels ready to launch. Rows, batches, element counts and working sets are multiplied by `scale`.
// UserError for a device kind that cannot be measured yet.
std::vector<ProbePoint> plan_probe(backend::Device& device, double scale);

// A small layer of products, which is launched between the launches of other points.
ProbePoint plan_between(backend::Device& device);

class ProbePlan {
 public:
  ProbePlan(backend::Device& device, double scale);

  void add_between();
  void add_machine();           // launch overhead, bandwidth
  void add_dtype(DType dtype);  // oneDNN's own rates: the peak, and convolutions of dtypes that no kernel of ours takes
  void add_products();
  void add_epilogues();
  void add_convolutions();
  void add_attentions();
  void add_recurrences();
  void add_row_ops();   // probe_ops.cpp: ops over the last axis
  void add_flat_ops();  // probe_ops.cpp: element-wise ops, movement, pooling
  void add_updates();   // probe_ops.cpp: optimizers

  std::vector<ProbePoint> take() { return std::move(points_); }

 private:
  std::int64_t scaled(std::int64_t size) const;
  ProbePoint& add(const graph::Op& op, const graph::Attributes& attributes, std::vector<graph::TensorType> inputs);
  ProbePoint& add_hot(std::string name, std::unique_ptr<backend::Kernel> kernel, std::vector<graph::TensorType> inputs,
                      std::vector<graph::TensorType> outputs);
  void add_op(const graph::Op& op, const graph::Attributes& attributes, std::vector<graph::TensorType> inputs);
  void add_gemm(DType dtype, const char* layout, std::int64_t m, std::int64_t n, std::int64_t k);
  void add_batchnorms(std::int64_t rows);
  void add_conv(std::int64_t batch, std::int64_t size, std::int64_t in, std::int64_t out, std::int64_t kernel);
  void add_recurrence(graph::Cell cell, std::int64_t batch, std::int64_t features, std::int64_t hidden);
  void add_attention(std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t head_size,
                     bool causal);

  backend::Device& device_;
  double scale_;
  std::vector<ProbePoint> points_;
};

}  // namespace headway::bench
