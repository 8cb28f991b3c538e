// What a label measures, before thresholds and scales.
#pragma once

#include <cstdint>

#include "data/market/windows.h"

namespace headway::data {

// The change of the price at `row` that `label` stands for (windows.h).
double relative_change(const ColumnView& price, LabelKind label, std::int64_t horizon, std::int64_t row);

}  // namespace headway::data
