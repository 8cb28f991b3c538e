// Daily cross-sections of instruments, with a signal that a model must partly read from the other instruments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace headway::data {

// Sample d is day first_day + d: input f32 [instruments, features], target f32 [instruments, 1]. All features are
// standard normal. Feature 1 of every instrument shares the day's mood g, x1 = 0.6 g + 0.8 own, and the next return of
// an instrument is
//
//   y = (x0 + g x2) / 2 + sqrt(0.5) noise
//
// with variance 1. x0 explains a quarter of it and can be read from the instrument alone; g x2 explains another
// quarter, but g is seen only in the mean of x1 over the instruments. A day is a pure function of (seed, day).
class CrossSections : public Dataset {
 public:
  static constexpr std::int64_t kSignalFeatures = 3;
  static constexpr double kOwnShare = 0.25;   // of the variance, from the instrument's own features
  static constexpr double kMoodShare = 0.25;  // from all instruments' features

  // UserError for fewer than three features, no instruments or no days.
  CrossSections(std::int64_t first_day, std::int64_t days, std::int64_t instruments, std::int64_t features,
                std::uint64_t seed);

  std::int64_t size() const override { return days_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> fields) const override;
  std::string description() const override;
  Baseline baseline() const override;

 private:
  struct Instrument {
    double x0 = 0, x1 = 0, x2 = 0, target = 0;
  };
  double mood(std::int64_t day) const;
  Instrument instrument(std::int64_t day, double mood, std::int64_t number) const;

  std::int64_t first_day_;
  std::int64_t days_;
  std::int64_t instruments_;
  std::int64_t features_;
  std::uint64_t seed_;
  std::vector<Field> fields_;
  std::vector<float> table_;  // normals that the features without a signal are copied from
};

}  // namespace headway::data
