// Rows with a planted non-linear signal, for models of tabular data: what can be learnt is known exactly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace headway::data {

// input f32 [features], each standard normal; target f32 [1] = signal(input) + noise, where
//
//   signal(x) = (x0 + x1 x2 + sin(2 x3) / s + (x4^2 - 1) / sqrt(2)) / 2,   s^2 = Var sin(2 x3) = (1 - e^-8) / 2.
//
// The four terms have mean 0, variance 1 each before the half, and are uncorrelated, so the signal has variance 1; the
// noise is normal with variance 0.1. Hence the mean squared errors: 1.1 when predicting 0; 0.8134 for the best linear
// model (it explains x0, and (2 e^-2 / s)^2 = 15 % of the sine); 0.1 when knowing the signal, the best reachable.
//
// All values come from a table of 2^18 normals, at places that Philox gives for (seed, row): the noise and x0 .. x4
// from a place each; the other features, which carry nothing, are copied from one place on. So reading a row is a copy
// plus two Philox blocks. Within a row all features are independent; two rows share distractors (shifted) where their
// places are near.
class SyntheticRows : public Dataset {
 public:
  static constexpr std::int64_t kSignalFeatures = 5;
  static constexpr double kSignalVariance = 1.0;
  static constexpr double kNoiseVariance = 0.1;
  static constexpr double kBestLinearError = 0.8134;

  // UserError for fewer than 5 features or no rows.
  SyntheticRows(std::int64_t rows, std::int64_t features, std::uint64_t seed);

  // The part of the target that a model can learn, from the features of one row.
  static float signal(std::span<const float> features);

  std::int64_t size() const override { return rows_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override;
  std::string description() const override;

 private:
  std::int64_t rows_;
  std::int64_t features_;
  std::uint64_t seed_;
  std::vector<Field> fields_;
  std::vector<float> table_;
};

}  // namespace headway::data
