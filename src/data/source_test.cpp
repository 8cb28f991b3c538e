#include "data/source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "data/market/simulate.h"
#include "data/slice.h"
#include "data/synthetic.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

std::string failure(const SourceOptions& options) {
  return message_of<UserError>([&] { open_source(options); });
}

TEST(Source, OpensEachOfTheTableWithInputAndTarget) {
  const TemporaryFolder folder;
  simulate_book({.output = folder.path() / "book.hwc", .days = 3, .rows = 400}, nullptr);
  std::set<std::string> names;
  for (const Source& source : sources()) {
    SourceOptions options;
    options.name = source.name;
    options.valid = 0.1;
    options.rows = 20'000;
    if (options.name == "columnar") options.directory = folder.path() / "book.hwc";
    const Split split = open_source(options);
    ASSERT_TRUE(split.train && split.valid) << source.name;
    EXPECT_EQ(split.train->fields(), split.valid->fields());
    ASSERT_EQ(split.train->fields().size(), 2U);
    EXPECT_EQ(split.train->fields()[0].name, "input");
    EXPECT_EQ(split.train->fields()[1].name, "target");
    EXPECT_FALSE(Sample(*split.train, 0) == Sample(*split.valid, 0));
    EXPECT_GT(split.valid->size(), 0);
    names.insert(source.name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"columnar", "fashion_mnist", "kjv", "lob_sim", "series_sim", "synthetic",
                                          "xs_sim"}));
}

TEST(Source, SplitsTheTextAtTheEnd) {
  const Split split = open_source({.name = "kjv", .valid = 0.05, .sequence = 100});
  const std::int64_t valid_bytes = std::llround(4404412 * 0.05);
  EXPECT_EQ(split.valid->size(), (valid_bytes - 1) / 100);
  EXPECT_EQ(split.train->size(), 4404412 - valid_bytes - 100);
  // The validation text follows the last training window; its second window follows its first.
  const std::int32_t after = Sample(*split.valid, 0).as<std::int32_t>(1)[99];
  EXPECT_EQ(after, Sample(*split.valid, 1).as<std::int32_t>(0)[0]);
  EXPECT_EQ(Sample(*split.train, 0).as<std::int32_t>(0)[0], 'G');
}

TEST(Source, SplitsSamplesWithoutOverlap) {
  const SyntheticRows whole(1000, 7, 9);
  const Split split = open_source({.name = "synthetic", .valid = 0.25, .seed = 9, .features = 7, .rows = 1000});
  ASSERT_EQ(split.train->size(), 750);
  ASSERT_EQ(split.valid->size(), 250);
  EXPECT_EQ(Sample(*split.train, 749), Sample(whole, 749));
  EXPECT_EQ(Sample(*split.valid, 0), Sample(whole, 750));
  EXPECT_EQ(Sample(*split.valid, 249), Sample(whole, 999));
  expect_mentions(split.valid->description(), {"samples 750 to 999 of synthetic"});
  EXPECT_EQ(open_source({.name = "synthetic", .rows = 1000}).valid, nullptr);
  EXPECT_EQ(open_source({.name = "synthetic", .rows = 1000}).train->size(), 1000);
  EXPECT_EQ(open_source({.name = "kjv"}).valid, nullptr);
  EXPECT_THROW(Slice(std::make_shared<SyntheticRows>(10, 7, 9), 5, 6), InternalError);
}

TEST(Source, ValidatesOnTheTestSet) {
  const Split split = open_source({.name = "fashion_mnist", .test_set = true});
  EXPECT_EQ(split.train->size(), 60000);
  EXPECT_EQ(split.valid->size(), 10000);
  expect_mentions(failure({.name = "kjv", .test_set = true}), {"kjv", "no test set", "0.05"});
  expect_mentions(failure({.name = "fashion_mnist", .valid = 0.1, .test_set = true}), {"not both"});
}

TEST(Source, ExplainsWhatCannotBe) {
  expect_mentions(failure({.name = "fashion_mnits"}), {"'fashion_mnits'", "did you mean 'fashion_mnist'"});
  expect_mentions(failure({.name = "zzzzzzzz"}), {"known: fashion_mnist, kjv, synthetic"});
  for (const double valid : {-0.1, 1.0, std::nan("")}) {
    expect_mentions(failure({.name = "synthetic", .valid = valid}), {"synthetic", "[0, 1)"});
  }
  expect_mentions(failure({.name = "synthetic", .valid = 0.01, .rows = 10}), {"0.01 of 10", "none for validation"});
  expect_mentions(failure({.name = "synthetic", .valid = 0.99, .rows = 10}), {"0.99 of 10", "none for training"});
  expect_mentions(failure({.name = "kjv", .valid = 1e-5}), {"validation part", "44 bytes", "256 tokens"});
  expect_mentions(failure({.name = "kjv", .vocab = 100}), {"offset 1 is 101", "100"});
  expect_mentions(failure({.name = "kjv", .directory = "/x"}), {"kjv", "directory", "/x"});
  expect_mentions(failure({.name = "fashion_mnist", .directory = "/no/such"}), {"/no/such"});
}

}  // namespace
}  // namespace headway::data
