#include "data/market/convert.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/market/columnar_file.h"
#include "data/market/csv_reader.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

class Convert : public testing::Test {
 protected:
  ConvertReport run(const std::vector<std::string>& names, ConvertOptions options = {}) {
    for (const std::string& name : names) options.inputs.push_back(folder_.path() / name);
    options.output = folder_.path() / "out.hwc";
    return convert(options);
  }
  std::string failure(const std::vector<std::string>& names, const ConvertOptions& options = {}) {
    std::filesystem::remove(folder_.path() / "out.hwc");
    const std::string message = message_of<UserError>([&] { run(names, options); });
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.hwc") && !message.empty());
    return message;
  }
  double value(const char* column, std::int64_t row) const {
    const ColumnarFile file(folder_.path() / "out.hwc");
    const auto view = file.find(column);
    return view ? (*view)[row] : -12345;
  }

  TemporaryFolder folder_;
};

TEST_F(Convert, TypesAreInferredOrGiven) {
  folder_.write("a.csv",
                "\xEF\xBB\xBF"
                "date,id,\"price, last\",volume,note\r\n"
                "2024-03-01 09:30:00.5,20000000, 1.25 ,3,x\r\n"
                "\r\n"
                "2024-03-01T09:30:01Z,20000001,\"-2.5e-1\",4,y\r\n");
  const ConvertReport report = run({"a.csv"}, {.types = {"note=skip", "volume=i32"}});
  ASSERT_EQ(report.notes.size(), 1U);  // of what is inferred, only the id is no feature
  expect_mentions(report.notes[0], {"'id'", "i64", "--types id=f32"});
  const ColumnarFile file(folder_.path() / "out.hwc");
  const std::vector<Column> expected = {
      {"date", DType::kI64}, {"id", DType::kI64}, {"price, last", DType::kF32}, {"volume", DType::kI32}};
  EXPECT_EQ(file.layout().columns, expected);
  EXPECT_EQ(file.layout().rows, 2);
  // 1709285400 is 2024-03-01 09:30:00 UTC.
  EXPECT_EQ(value("date", 0), 1709285400.5e9);
  EXPECT_EQ(value("date", 1) - value("date", 0), 5e8);
  EXPECT_EQ(value("id", 1), 20000001);
  EXPECT_EQ(value("price, last", 0), 1.25);
  EXPECT_EQ(value("price, last", 1), -0.25);
  EXPECT_EQ(value("volume", 1), 4);
}

TEST_F(Convert, EachFileIsASegment) {
  folder_.write("a.csv", "x,y\n1,2\n3,4\n");
  folder_.write("b.csv", "x,y\n5,6");
  folder_.write("c.csv", "x,z\n5,6");
  run({"a.csv", "b.csv"});
  EXPECT_EQ(ColumnarFile(folder_.path() / "out.hwc").layout().segments, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(value("y", 2), 6);
  expect_mentions(failure({"a.csv", "c.csv"}), {"a.csv", "c.csv", "different columns"});
}

TEST_F(Convert, MissingCellsAreErrorsOrFilled) {
  folder_.write("a.csv", "x,y\n1,2\n,4\nnan,6\n7,8\n");
  expect_mentions(failure({"a.csv"}), {"a.csv", "line 3", "column 'x'", "empty", "--fill"});
  EXPECT_EQ(run({"a.csv"}, {.fill = Fill::kForward}).filled, 2);
  EXPECT_EQ(value("x", 2), 1);
  EXPECT_EQ(value("y", 2), 6);
  run({"a.csv"}, {.fill = Fill::kZero});
  EXPECT_EQ(value("x", 1), 0);
  EXPECT_EQ(run({"a.csv"}, {.fill = Fill::kDrop}).dropped, 2);
  EXPECT_EQ(value("x", 1), 7);
  folder_.write("b.csv", "x,y\n,2\n");
  expect_mentions(failure({"b.csv"}, {.fill = Fill::kForward}), {"line 2", "no row above"});
  expect_mentions(failure({"b.csv"}, {.fill = Fill::kDrop}), {"no rows"});
}

TEST_F(Convert, BadCellsAreNamed) {
  const auto csv = [&](const char* text, const ConvertOptions& options = {}) {
    folder_.write("a.csv", text);
    return failure({"a.csv"}, options);
  };
  expect_mentions(csv("x,y\n1,2\n3,abc\n"), {"a.csv", "line 3", "column 'y'", "'abc' is not a number"});
  expect_mentions(csv("x,y\n1,2\n3,4 5\n"), {"line 3", "'4 5' is not a number"});
  expect_mentions(csv("x,y\n1,2\n3\n"), {"line 3", "1 cells", "2 columns"});
  expect_mentions(csv("x,y\n1,2\n3,4,5\n"), {"line 3", "3 cells"});
  expect_mentions(csv("x,y\n1,inf\n"), {"line 2", "'inf' is not finite"});
  expect_mentions(csv("x\n1e39\n", {.types = {"x=f32"}}), {"line 2", "too large for f32"});
  EXPECT_EQ(csv("x\n1e39\n"), "");  // inferred: f64
  expect_mentions(csv("x\n20000000\n0.5\n", {.types = {"x=i64"}}), {"line 3", "'0.5' is not a whole number"});
  expect_mentions(csv("x\n3000000000\n", {.types = {"x=i32"}}), {"does not fit into i32"});
  expect_mentions(csv("x\n2024-02-30\n", {.types = {"x=time"}}), {"'2024-02-30' is not a time"});
  expect_mentions(csv("x,y\n1,\"2\n"), {"line 2", "quote is not closed"});
  expect_mentions(csv("1,2\n3,4\n"), {"line 1", "'1' stands where the name"});
  expect_mentions(csv("x,x\n3,4\n"), {"two columns are named 'x'"});
  expect_mentions(csv(""), {"is empty"});
  expect_mentions(csv("x,y\n"), {"no rows"});
  expect_mentions(csv("price\n1\n", {.types = {"prize=f64"}}), {"no column 'prize'", "did you mean 'price'"});
  expect_mentions(csv("x\n1\n", {.types = {"x=f16"}}), {"no type 'f16'", "f32"});
  expect_mentions(failure({"none.csv"}), {"no such file", "none.csv"});
}

TEST_F(Convert, LongFilesStreamThroughTheBuffer) {
  std::string text = "a,b\n";
  for (int row = 0; row < 100'000; ++row) text += std::to_string(row) + "," + std::to_string(row * 2) + ".5\n";
  folder_.write("a.csv", text);
  run({"a.csv"});
  EXPECT_EQ(ColumnarFile(folder_.path() / "out.hwc").layout().rows, 100'000);
  for (const std::int64_t row : {0, 9'999, 65'536, 99'999})
    EXPECT_EQ(value("b", row), static_cast<double>(row) * 2 + 0.5);
}

// Two levels; the messages explain each change.
constexpr const char* kBook =
    "10100,5,10000,7,10200,3,9900,2\n"
    "10100,5,10000,9,10200,3,9900,2\n"   // a buy order of 2 joins at 10000
    "10100,1,10000,9,10200,3,9900,2\n"   // 4 of the ask at 10100 are executed
    "10200,3,10000,9,10300,8,9900,2\n"   // the rest of it is deleted
    "10200,3,10000,9,10300,8,9900,2\n";  // a hidden execution
constexpr const char* kMessages =
    "34200.1,1,11,7,10000,1\n"
    "34200.2,1,12,2,10000,1\n"
    "34200.3,4,13,4,10100,-1\n"
    "34200.3,3,13,1,10100,-1\n"
    "34201.0,5,0,50,10150,1\n";

TEST_F(Convert, LobsterPairs) {
  folder_.write("X_orderbook_2.csv", kBook);
  folder_.write("X_message_2.csv", kMessages);
  run({"X_message_2.csv", "X_orderbook_2.csv"});
  EXPECT_EQ(ColumnarFile(folder_.path() / "out.hwc").layout().rows, 5);
  EXPECT_EQ(value("time", 1), 34200.2e9);
  EXPECT_EQ(value("mid", 3), 10100);
  EXPECT_EQ(value("ask_price_2", 3), 10300);
  EXPECT_EQ(value("bid_size_1", 1), 9);
  const auto report = run({"X_orderbook_2.csv"});  // alone
  EXPECT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(value("time", 0), -12345);
}

TEST_F(Convert, LobsterPairsThatDisagree) {
  const auto with = [&](const std::string& book, const std::string& messages) {
    folder_.write("X_orderbook_2.csv", book);
    folder_.write("X_message_2.csv", messages);
    return failure({"X_orderbook_2.csv", "X_message_2.csv"});
  };
  const auto replaced = [](std::string text, const std::string& old, const std::string& by) {
    return text.replace(text.find(old), old.size(), by);
  };
  EXPECT_EQ(with(kBook, kMessages), "");
  const std::string book = kBook, messages = kMessages;
  expect_mentions(with(book, replaced(messages, "12,2,10000", "12,3,10000")),
                  {"X_message_2.csv: row 2", "disagrees", "10000"});
  expect_mentions(with(book, replaced(messages, "13,4,10100,-1", "13,4,10100,1")), {"row 3", "disagrees"});
  expect_mentions(with(book, replaced(messages, "3,13,1,", "3,13,2,")), {"row 4", "disagrees"});
  expect_mentions(with(book.substr(0, book.size() / 5 * 4), messages), {"X_message_2.csv: row 5", "only 4 rows"});
  expect_mentions(with(book, messages.substr(0, messages.rfind("34201"))), {"X_orderbook_2.csv: row 5", "only 4 rows"});
  expect_mentions(with(book, replaced(messages, "34200.2", "34200.0")), {"row 2", "before"});
  expect_mentions(with(book, replaced(messages, "34200.2,1", "34200.2,9")), {"row 2", "9 is no event"});
  expect_mentions(with(replaced(book, "10100,5", "10000,5"), messages), {"X_orderbook_2.csv: row 1", "crossed"});
  expect_mentions(with(replaced(book, "10200,3", "10100,3"), messages), {"row 1", "level 2", "not beyond"});
  expect_mentions(with(replaced(book, "10100,5", "10100,0"), messages), {"row 1", "size 0"});
  expect_mentions(with(replaced(book, "10100,5", "10100,x"), messages), {"row 1", "'x' is not a whole number"});
  expect_mentions(failure({"X_message_2.csv"}), {"X_message_2.csv", "X_orderbook_2.csv is not among"});
}

TEST_F(Convert, LobsterEmptyLevelsAreMissingCells) {
  folder_.write("X_orderbook_2.csv", "10100,5,10000,7,10200,3,9900,2\n10100,5,10000,7,9999999999,0,-9999999999,0\n");
  expect_mentions(failure({"X_orderbook_2.csv"}), {"row 2", "column 5", "ask level 2 is empty", "--fill"});
  run({"X_orderbook_2.csv"}, {.fill = Fill::kZero});
  EXPECT_EQ(value("ask_price_2", 1), 10200);
  EXPECT_EQ(value("bid_price_2", 1), 9900);
  EXPECT_EQ(value("ask_size_2", 1), 0);
  run({"X_orderbook_2.csv"}, {.fill = Fill::kForward});
  EXPECT_EQ(value("ask_size_2", 1), 3);
  EXPECT_EQ(run({"X_orderbook_2.csv"}, {.fill = Fill::kDrop}).dropped, 1);
}

TEST(CsvReader, TimesAndNumbers) {
  EXPECT_EQ(to_time_ns("1970-01-02"), std::int64_t{86'400'000'000'000});
  EXPECT_EQ(to_time_ns("1969-12-31T23:59:59.999999999"), -1);
  EXPECT_EQ(to_time_ns("00:01:00.5"), std::int64_t{60'500'000'000});
  for (const char* text :
       {"", "x", "1970-13-01", "1970-01-01 25:00", "1970-01-01x", "12:3", "1970-01-01 00:00:00.", "-"}) {
    EXPECT_EQ(to_time_ns(text), std::nullopt) << text;
  }
  EXPECT_EQ(to_double("1e3"), 1000);
  EXPECT_EQ(to_double("+0.5"), 0.5);
  EXPECT_EQ(to_double("1,5"), std::nullopt);
  EXPECT_EQ(to_double(""), std::nullopt);
  EXPECT_EQ(to_int64("9223372036854775808"), std::nullopt);
}

}  // namespace
}  // namespace headway::data
