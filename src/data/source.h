// The data sets that a run file can name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/progress.h"
#include "data/dataset.h"
#include "data/market/windows.h"

namespace headway::data {

struct SourceOptions {
  std::string name = {};
  double valid = 0;       // the last fraction of the samples (of the text) is for validation; 0: none
  bool test_set = false;  // validate on the source's own test set instead
  std::uint64_t seed = 1;
  std::int64_t sequence = 256;             // text: tokens in a window
  std::int64_t vocab = 256;                // text: bytes must be less than this
  std::int64_t features = 130;             // synthetic
  std::int64_t rows_per_sample = 0;        // synthetic: a sample is that many rows; 0: one, without an axis of rows
  std::int64_t rows = 1'000'000;           // synthetic and simulated, the validation rows among them
  std::filesystem::path directory = {};    // fashion_mnist: where its files are; empty: where the package puts them.
                                           // columnar: the file
  std::int64_t days = 8;                   // lob_sim, series_sim: the rows are cut into as many
  Arrivals arrivals = Arrivals::kPoisson;  // lob_sim
  std::string price = "mid";               // columnar: the column that labels are made of
  WindowOptions windows = {};              // columnar, lob_sim, series_sim; `valid` above counts, not theirs
  Progress* progress = nullptr;            // of opening what is long
};

struct Split {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> valid;  // null: no validation
  std::int64_t classes = 0;        // labels are in [0, classes); 0: no labels, or not known
};

struct Source {
  std::string name = {};
  std::string about = {};  // one line for people
  bool has_test_set = false;
  bool has_directory = false;
  Split (*open)(const SourceOptions&) = nullptr;
};

// All sources.
std::span<const Source> sources();

// Opens a source. UserError for an unknown name (with the nearest known one), an option that the source cannot follow,
// or a validation fraction that leaves one of the two parts empty; EnvironmentError for a missing package.
Split open_source(const SourceOptions& options);

}  // namespace headway::data
