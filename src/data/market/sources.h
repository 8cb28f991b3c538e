// Market data as sources of data/source.h.
#pragma once

#include "data/source.h"

namespace headway::data {

Split open_columnar(const SourceOptions& options);
Split open_lob_sim(const SourceOptions& options);
Split open_series_sim(const SourceOptions& options);
Split open_xs_sim(const SourceOptions& options);

}  // namespace headway::data
