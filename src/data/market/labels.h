// Labels of rows, worked out once for a table.
#pragma once

#include <cstdint>
#include <functional>

#include "data/market/windows.h"

namespace headway::data {

// Calls `visit` with the rows first, first + step ... up to last and the change of the price that `label` stands for
// there, before thresholds and scales (windows.h). The rows that a label reads must be in the table. UserError names a
// row whose price is not positive.
void visit_changes(const Table& table, LabelKind label, std::int64_t horizon, std::int64_t first, std::int64_t last,
                   std::int64_t step, const std::function<void(std::int64_t row, double change)>& visit);

// alpha or the deviation of `statistics` from the anchors of the training part, then the labels of both parts.
void fill_labels(const Table& table, const WindowOptions& options, const std::vector<AnchorRange>& train,
                 const std::vector<AnchorRange>& valid, WindowStatistics& statistics);

}  // namespace headway::data
