// The words that run files choose from. Each enum has its names, in the order of its values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace headway::record {

enum class Precision : std::uint8_t { kF32, kBF16 };
enum class OptimizerKind : std::uint8_t { kAdamW, kSgd };
enum class LrCurve : std::uint8_t { kConstant, kCosine, kLinear };
enum class Recompute : std::uint8_t { kNone, kFull, kSelective };
enum class TargetMetric : std::uint8_t { kValidLoss, kValidAccuracy, kTrainLoss };
enum class PipelineOrder : std::uint8_t { kGPipe, k1F1B, kZeroBubble };
enum class ReduceOrder : std::uint8_t { kFixed, kAny };
enum class WindowLabel : std::uint8_t { kDirection, kSmoothDirection, kReturn };
enum class WindowNormalise : std::uint8_t { kTrain, kDay, kNone };
enum class ArrivalProcess : std::uint8_t { kPoisson, kHawkes };

std::span<const std::string> names_of(Precision);
std::span<const std::string> names_of(OptimizerKind);
std::span<const std::string> names_of(LrCurve);
std::span<const std::string> names_of(Recompute);
std::span<const std::string> names_of(TargetMetric);
std::span<const std::string> names_of(PipelineOrder);
std::span<const std::string> names_of(ReduceOrder);
std::span<const std::string> names_of(WindowLabel);
std::span<const std::string> names_of(WindowNormalise);
std::span<const std::string> names_of(ArrivalProcess);

// The word for a value: "bf16", "adamw", "1f1b".
template <class Enum>
const std::string& name_of(Enum value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

}  // namespace headway::record
