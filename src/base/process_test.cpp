#include "base/process.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"

namespace headway {
namespace {

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Process, AnswersLineByLine) {
  Process cat({"cat"});
  cat.write_line("one");
  cat.write_line("two");
  EXPECT_EQ(cat.read_line(Seconds(10)), "one");
  EXPECT_EQ(cat.read_line(Seconds(10)), "two");
  cat.finish(Seconds(10));
}

TEST(Process, GetsTheAddedEnvironment) {
  Process shell({"sh", "-c", "echo $HEADWAY_TEST_WORD $HOME"}, {{"HEADWAY_TEST_WORD", "there"}, {"HOME", "changed"}});
  EXPECT_EQ(shell.read_line(Seconds(10)), "there changed");
}

// A read that waited for ever, or an error without what the child said, fails here.
TEST(Process, AnEarlyEndNamesProgramAndReason) {
  Process shell({"sh", "-c", "echo a traceback >&2; echo no torch here >&2; exit 1"});
  EXPECT_EQ(error_of([&] { shell.read_line(Seconds(10)); }), "sh ended early: no torch here");
  EXPECT_EQ(error_of([&] { shell.finish(Seconds(10)); }), "sh ended with status 1: no torch here");
}

TEST(Process, SilenceEndsTheWait) {
  Process shell({"sleep", "60"});
  const Seconds start = now();
  EXPECT_EQ(error_of([&] { shell.read_line(Seconds(0.05)); }), "sleep said nothing for 50.00 ms");
  EXPECT_LT((now() - start).value, 10.0);
}

TEST(Process, AMissingProgramIsSaid) {
  EXPECT_EQ(error_of([] { Process({"headway-no-such-program"}); }),
            "cannot start headway-no-such-program: No such file or directory");
}

TEST(Process, WritingToADeadChildIsAnError) {
  Process shell({"true"});
  EXPECT_NE(error_of([&] {
              for (int line = 0; line < 100000; ++line) shell.write_line("word");
            }).find("does not listen any more"),
            std::string::npos);
}

}  // namespace
}  // namespace headway
