#include "data/market/sources.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/market/series_sim.h"
#include "data/market/xs_sim.h"

namespace headway::data {
namespace {

Split split(const Table& table, const SourceOptions& options) {
  WindowOptions windows = options.windows;
  windows.valid = options.valid;
  WindowSplit parts = split_windows(table, windows);
  return {std::move(parts.train), std::move(parts.valid)};
}

std::int64_t rows_a_day(const SourceOptions& options) {
  if (options.rows / options.days < 1) {
    throw UserError(fmt::format("{}: {} rows are not enough for {} days", options.name, options.rows, options.days));
  }
  return options.rows / options.days;
}

}  // namespace

Split open_columnar(const SourceOptions& options) {
  if (options.directory.empty()) {
    throw UserError("columnar: no file; give data.path, a file that `headway data convert` or `simulate` wrote");
  }
  // Everything is read once for the statistics anyway: damage is told before a model learns it.
  ColumnarFile(options.directory).verify(options.progress);
  return split(columnar_table(options.directory, options.price), options);
}

Split open_lob_sim(const SourceOptions& options) {
  const LobOptions lob = {.seed = options.seed, .arrivals = options.arrivals};
  return split(lob_table(lob, options.days, rows_a_day(options)), options);
}

Split open_series_sim(const SourceOptions& options) {
  const Shape& shape = options.windows.input_shape;
  const std::int64_t features = shape.rank() >= 2 ? shape[1] : options.features;
  return split(series_table(options.seed, options.days, rows_a_day(options), features), options);
}

Split open_xs_sim(const SourceOptions& options) {
  const Shape& shape = options.windows.input_shape;
  const bool given = shape.rank() == 2;
  const std::int64_t instruments = given ? shape[0] : 1000, features = given ? shape[1] : options.features;
  const auto valid = static_cast<std::int64_t>(std::llround(static_cast<double>(options.rows) * options.valid));
  if (options.valid > 0 && (valid < 1 || valid >= options.rows)) {
    throw UserError(fmt::format("xs_sim: valid {} of {} days leaves none for {}", options.valid, options.rows,
                                valid < 1 ? "validation" : "training"));
  }
  const std::int64_t train = options.rows - valid;
  Split parts;
  parts.train = std::make_unique<CrossSections>(0, train, instruments, features, options.seed);
  if (valid > 0) parts.valid = std::make_unique<CrossSections>(train, valid, instruments, features, options.seed);
  return parts;
}

}  // namespace headway::data
