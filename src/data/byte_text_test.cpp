#include "data/byte_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "data/kjv.h"
#include "data/process.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

std::vector<std::int32_t> tokens(const Dataset& dataset, std::int64_t index, std::size_t field) {
  const Sample sample(dataset, index);
  const auto values = sample.as<std::int32_t>(field);
  return {values.begin(), values.end()};
}

TEST(ByteWindows, GivesEachWindowAndTheNextBytes) {
  const std::string text("ab\x80\xff\0f", 6);
  const ByteWindows windows("text", text, {.sequence = 3, .stride = 1});
  ASSERT_EQ(windows.size(), 3);
  EXPECT_EQ(tokens(windows, 0, 0), (std::vector<std::int32_t>{'a', 'b', 128}));
  EXPECT_EQ(tokens(windows, 0, 1), (std::vector<std::int32_t>{'b', 128, 255}));
  EXPECT_EQ(tokens(windows, 2, 0), (std::vector<std::int32_t>{128, 255, 0}));
  EXPECT_EQ(tokens(windows, 2, 1), (std::vector<std::int32_t>{255, 0, 'f'}));
  EXPECT_EQ(windows.fields(), input_and_target(DType::kI32, Shape{3}, DType::kI32, Shape{3}));
  EXPECT_EQ(windows.description(), "text: 3 windows of 3 bytes, 1 apart, of 6 bytes of text");
}

// ASan watches the end of the text. Windows of n tokens need n + 1 bytes.
TEST(ByteWindows, CountsWindows) {
  const auto count = [](std::size_t bytes, std::int64_t sequence, std::int64_t stride) {
    const ByteWindows windows("t", std::string(bytes, 'x'), {.sequence = sequence, .stride = stride});
    Sample(windows, windows.size() - 1);
    return windows.size();
  };
  EXPECT_EQ(count(5, 4, 1), 1);
  EXPECT_EQ(count(6, 4, 1), 2);
  EXPECT_EQ(count(8, 4, 4), 1);
  EXPECT_EQ(count(9, 4, 4), 2);
  EXPECT_EQ(count(100, 7, 3), 31);  // starts 0, 3 .. 90 of at most 92
}

TEST(ByteWindows, ExplainsWhatDoesNotFit) {
  const auto failure = [](const std::string& text, const Windows& windows) {
    return message_of<UserError>([&] { ByteWindows("the text", text, windows); });
  };
  expect_mentions(failure("abcd", {.sequence = 4}), {"the text", "4 bytes", "4 tokens"});
  expect_mentions(failure("", {.sequence = 4}), {"0 bytes"});
  expect_mentions(failure("abc\xc3z", {.sequence = 2, .stride = 1, .vocab = 128}), {"offset 3 is 195", "128"});
  expect_mentions(failure("ab\x80", {.sequence = 2, .stride = 1, .vocab = 128}), {"offset 2 is 128"});
  expect_mentions(failure("abcd", {.sequence = 0}), {"at least 1"});
  EXPECT_EQ(failure("abc\x7fz", {.sequence = 2, .stride = 1, .vocab = 128}), "");
}

TEST(Kjv, IsTheDescribedText) {
  const std::string text = read_kjv();
  EXPECT_EQ(text.size(), 4404412U);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 31102);
  EXPECT_EQ(*std::max_element(text.begin(), text.end()), 'z');
  EXPECT_TRUE(text.starts_with("Ge1:1 In the beginning God created the heaven and the earth.\n"));
}

TEST(Process, ReturnsTheOutputAndPassesArgumentsUntouched) {
  EXPECT_EQ(output_of({"printf", "%s|", "a b", "$HOME", "'"}, Seconds(20)), "a b|$HOME|'|");
  EXPECT_EQ(output_of({"cat"}, Seconds(20)), "");  // its input is empty
  EXPECT_EQ(output_of({"head", "-c", "3000000", "/dev/zero"}, Seconds(20)), std::string(3000000, '\0'));
}

TEST(Process, ExplainsAFailure) {
  const auto failure = [](const std::vector<std::string>& command, double deadline) {
    return message_of<EnvironmentError>([&] { output_of(command, Seconds(deadline)); });
  };
  expect_mentions(failure({"headway-no-such-program"}, 20), {"headway-no-such-program", "No such file"});
  expect_mentions(failure({"sh", "-c", "echo why >&2; exit 3"}, 20), {"exit status 3", "why"});
  expect_mentions(failure({"sh", "-c", "kill -9 $$"}, 20), {"signal 9"});
  expect_mentions(failure({"sleep", "60"}, 0.05), {"sleep 60", "0.05 s"});
  expect_mentions(failure({"sh", "-c", "exec >&- 2>&-; exec sleep 60"}, 0.2), {"not done"});  // silent, but alive
}

}  // namespace
}  // namespace headway::data
