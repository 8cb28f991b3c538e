#include "record/run_enums.h"

#include <array>

namespace headway::record {

std::span<const std::string> names_of(Precision) {
  static const std::array<std::string, 2> kNames = {"f32", "bf16"};
  return kNames;
}

std::span<const std::string> names_of(OptimizerKind) {
  static const std::array<std::string, 2> kNames = {"adamw", "sgd"};
  return kNames;
}

std::span<const std::string> names_of(LrCurve) {
  static const std::array<std::string, 3> kNames = {"constant", "cosine", "linear"};
  return kNames;
}

std::span<const std::string> names_of(Recompute) {
  static const std::array<std::string, 3> kNames = {"none", "full", "selective"};
  return kNames;
}

std::span<const std::string> names_of(TargetMetric) {
  static const std::array<std::string, 3> kNames = {"valid_loss", "valid_accuracy", "train_loss"};
  return kNames;
}

std::span<const std::string> names_of(PipelineOrder) {
  static const std::array<std::string, 3> kNames = {"gpipe", "1f1b", "zero_bubble"};
  return kNames;
}

std::span<const std::string> names_of(ReduceOrder) {
  static const std::array<std::string, 2> kNames = {"fixed", "any"};
  return kNames;
}

std::span<const std::string> names_of(WindowLabel) {
  static const std::array<std::string, 3> kNames = {"direction", "smooth_direction", "return"};
  return kNames;
}

std::span<const std::string> names_of(WindowNormalise) {
  static const std::array<std::string, 3> kNames = {"train", "day", "none"};
  return kNames;
}

std::span<const std::string> names_of(ArrivalProcess) {
  static const std::array<std::string, 2> kNames = {"poisson", "hawkes"};
  return kNames;
}

}  // namespace headway::record
