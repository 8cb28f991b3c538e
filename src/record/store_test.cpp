#include "record/store.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace headway::record {
namespace {

namespace fs = std::filesystem;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / fmt::format("headway_store_{}_{}", test, ::getpid());
    fs::remove_all(folder_);
    path_ = folder_ / "results.db";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Result make(const std::string& id, const std::string& kind = "bench", const std::string& workload = "mlp") {
    Result result;
    result.id = id;
    result.kind = kind;
    result.workload = workload;
    result.time = utc_now();
    result.samples["step_ms"] = {1.5, 2.5};
    return result;
  }

  static std::vector<std::string> ids(const std::vector<Result>& results) {
    std::vector<std::string> all;
    all.reserve(results.size());
    for (const Result& each : results) all.push_back(each.id);
    return all;
  }

  // The message of the EnvironmentError of opening and listing.
  std::string failure() const {
    try {
      ResultStore(path_).list();
    } catch (const EnvironmentError& error) {
      return error.what();
    }
    return "no error";
  }

  // The same while another connection holds the file for writing, does `sql` in the end and lets go.
  std::string failure_beside(const std::string& sql) const {
    sqlite3* writer = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &writer), SQLITE_OK);
    sqlite3_busy_timeout(writer, 5000);  // a reader may look at the file just when it commits
    EXPECT_EQ(sqlite3_exec(writer, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    std::thread release([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_EQ(sqlite3_exec(writer, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(writer);
    });
    const std::string text = failure();
    release.join();
    sqlite3_close(writer);
    return text;
  }

  void expect_failure_keeps_the_file(std::string_view remedy) const {
    const std::string before = read_file(path_);
    const std::string text = failure();
    EXPECT_NE(text.find(path_.string()), std::string::npos) << text;
    EXPECT_NE(text.find(remedy), std::string::npos) << text;
    EXPECT_EQ(read_file(path_), before) << "the file was changed";
  }

  void execute(const std::string& sql) const {
    fs::create_directories(folder_);
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  fs::path folder_;
  fs::path path_;
};

TEST_F(StoreTest, KeepsWhatWasAdded) {
  const Result result = make("one");
  {
    ResultStore store(path_);
    EXPECT_TRUE(store.list().empty());
    EXPECT_FALSE(store.last());
    store.add(result);
  }
  EXPECT_EQ(ResultStore(path_).get("one"), result);
}

TEST_F(StoreTest, ListsNewestFirstAndFilters) {
  ResultStore store(path_);
  store.add(make("a", "bench", "mlp"));
  store.add(make("b", "train", "mlp"));
  store.add(make("c", "bench", "gpt"));
  store.add(make("0", "bench", "mlp"));
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids(store.list()), (Ids{"0", "c", "b", "a"}));
  EXPECT_EQ(ids(store.list({.kind = "bench"})), (Ids{"0", "c", "a"}));
  EXPECT_EQ(ids(store.list({.workload = "mlp"})), (Ids{"0", "b", "a"}));
  EXPECT_EQ(ids(store.list({.kind = "bench", .workload = "mlp"})), (Ids{"0", "a"}));
  EXPECT_EQ(ids(store.list({.limit = 2})), (Ids{"0", "c"}));
  EXPECT_TRUE(store.list({.kind = "' OR 1=1 --"}).empty());
  EXPECT_EQ(store.last()->id, "0");
  EXPECT_EQ(store.last(ResultFilter{.kind = "train"})->id, "b");
  EXPECT_FALSE(store.last(ResultFilter{.kind = "plan"}));
}

TEST_F(StoreTest, FindsByUniquePrefix) {
  ResultStore store(path_);
  for (const char* id : {"2025-aa", "2025-ab", "2025-a", "2026_x", "2026%y"}) store.add(make(id));
  EXPECT_EQ(store.get("2025-aa").id, "2025-aa");
  EXPECT_EQ(store.get("2025-a").id, "2025-a") << "a whole id comes before those that it begins";
  EXPECT_EQ(store.get("2026_").id, "2026_x");
  EXPECT_EQ(store.get("2026%").id, "2026%y") << "no wildcards";
  const auto message = [&](const std::string& id) -> std::string {
    try {
      store.get(id);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message("2025").find("'2025' begins more than one id (2025-aa, 2025-ab)"), std::string::npos)
      << message("2025");
  EXPECT_NE(message("zzz").find("no result 'zzz'"), std::string::npos) << message("zzz");
  EXPECT_NE(message("").find("is empty"), std::string::npos);
}

TEST_F(StoreTest, RefusesAnIdTwiceAndKeepsTheFirst) {
  ResultStore store(path_);
  store.add(make("one", "bench"));
  EXPECT_THROW(store.add(make("one", "train")), UserError);
  EXPECT_THROW(store.add(make("")), InternalError);
  store.add(make("two"));  // the failed one left no open transaction
  EXPECT_EQ(store.get("one").kind, "bench");
  EXPECT_EQ(store.list().size(), 2U);
}

TEST_F(StoreTest, ConcurrentWritersBothSucceed) {
  constexpr int kRounds = 4, kThreads = 4, kAdds = 6;
  for (int round = 0; round < kRounds; ++round) {  // each round races to make the file
    fs::remove_all(folder_);
    std::atomic<int> ready = 0;
    std::vector<std::string> failures(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        try {
          ++ready;
          while (ready < kThreads) std::this_thread::yield();
          ResultStore store(path_);  // a connection of its own, as another process has
          for (int add = 0; add < kAdds; ++add) store.add(make(fmt::format("{}-{}", thread, add)));
        } catch (const std::exception& error) {
          failures[static_cast<std::size_t>(thread)] = error.what();
        }
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(failures, std::vector<std::string>(kThreads));
    const std::vector<std::string> stored = ids(ResultStore(path_).list());
    EXPECT_EQ(std::set<std::string>(stored.begin(), stored.end()).size(), std::size_t{kThreads * kAdds});
  }
}

TEST_F(StoreTest, OpeningWaitsForAWriterThatIsNotYetInTheLog) {
  { ResultStore(path_).add(make("one")); }
  execute("PRAGMA journal_mode = DELETE");
  EXPECT_EQ(failure_beside("COMMIT"), "no error");
}

TEST_F(StoreTest, OpeningANewFileAcceptsTheTablesOfAnotherProcess) {
  fs::create_directories(folder_);
  EXPECT_EQ(failure_beside("CREATE TABLE results (seq INTEGER PRIMARY KEY, id, time, kind, workload, json);"
                           "PRAGMA application_id = 0x48445759; PRAGMA user_version = 1; COMMIT"),
            "no error");
}

TEST_F(StoreTest, ReadersSeeACompleteListWhileOthersWrite) {
  ResultStore writer(path_), reader(path_);
  writer.add(make("one"));
  EXPECT_EQ(reader.list().size(), 1U);
  writer.add(make("two"));
  EXPECT_EQ(reader.list().size(), 2U);
}

TEST_F(StoreTest, UsesWriteAheadLogAndMarksTheFile) {
  ResultStore store(path_);
  store.add(make("one"));
  EXPECT_TRUE(fs::exists(path_.string() + "-wal"));
  const std::string header = read_file(path_).substr(0, 100);
  EXPECT_EQ(header.substr(68, 4), "HDWY");                      // application_id
  EXPECT_EQ(header.substr(60, 4), std::string("\0\0\0\1", 4));  // user_version
}

TEST_F(StoreTest, RefusesAFileThatIsNoDatabase) {
  write_file_atomic(path_, "these are the notes of a user, not a database; long enough to have been read as a header" +
                               std::string(200, '.'));
  expect_failure_keeps_the_file("mv '" + path_.string() + "'");
}

TEST_F(StoreTest, RefusesADatabaseOfAnotherProgram) {
  execute("CREATE TABLE other (a); INSERT INTO other VALUES (1)");
  expect_failure_keeps_the_file("an SQLite file of another program");
}

TEST_F(StoreTest, RefusesADatabaseWithAnotherApplicationId) {
  execute("PRAGMA application_id = 5");
  expect_failure_keeps_the_file("an SQLite file of another program");
}

TEST_F(StoreTest, RefusesANewerVersion) {
  { ResultStore(path_).add(make("one")); }
  execute("PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)");
  expect_failure_keeps_the_file("has version 2, this program knows version 1");
}

TEST_F(StoreTest, ReportsDamageInTheMiddle) {
  {
    ResultStore store(path_);
    Result large = make("");
    large.notes = {std::string(3000, 'x')};
    for (int index = 0; index < 20; ++index) {
      large.id = fmt::format("id-{}", index);
      store.add(large);
    }
  }
  std::string content = read_file(path_);
  ASSERT_GT(content.size(), 40'000U);
  for (std::size_t at = 4096; at < content.size(); ++at) content[at] = static_cast<char>(at * 37 + 11);
  write_file_atomic(path_, content);
  expect_failure_keeps_the_file(".damaged");
}

TEST_F(StoreTest, ReportsARowThatIsNoResult) {
  { ResultStore(path_).add(make("one")); }
  execute("UPDATE results SET json = '{\"schema\": \"headway.result/9\"}'");
  const std::string text = failure();
  EXPECT_NE(text.find("result one: schema: is 'headway.result/9'"), std::string::npos) << text;
  EXPECT_NE(text.find(path_.string()), std::string::npos) << text;
}

TEST_F(StoreTest, ReportsAFolderThatCannotBe) {
  write_file_atomic(folder_, "a file where the folder should be");
  const std::string text = failure();
  EXPECT_NE(text.find(path_.string()), std::string::npos) << text;
  EXPECT_NE(text.find("HEADWAY_HOME"), std::string::npos) << text;
}

TEST_F(StoreTest, ReportsADirectoryInPlaceOfTheFile) {
  fs::create_directories(path_);
  EXPECT_NE(failure().find("HEADWAY_HOME"), std::string::npos) << failure();
}

TEST_F(StoreTest, SpecialNamesOfSqliteAreFiles) {
  const fs::path before = fs::current_path();
  fs::create_directories(folder_);
  fs::current_path(folder_);
  { ResultStore(":memory:").add(make("one")); }
  fs::current_path(before);
  EXPECT_TRUE(fs::exists(folder_ / ":memory:"));
}

TEST_F(StoreTest, AFullDiskIsAnErrorAndLosesNothing) {
  Result large = make("large");
  large.notes.assign(2000, std::string(1000, 'x'));
  {
    ResultStore store(path_);
    store.add(make("one"));
    // A limit on the size of files fails a write in the place where a full disk does.
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {200'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    std::string text = "no error";
    try {
      store.add(large);
    } catch (const EnvironmentError& error) {
      text = error.what();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_NE(text.find(path_.string()), std::string::npos) << text;
    EXPECT_NE(text.find("free space"), std::string::npos) << text;
    EXPECT_EQ(ids(store.list()), std::vector<std::string>{"one"});
    store.add(make("two"));
  }
  ResultStore store(path_);
  EXPECT_EQ(ids(store.list()), (std::vector<std::string>{"two", "one"}));
  store.add(large);
  EXPECT_EQ(store.get("large"), large);
}

}  // namespace
}  // namespace headway::record
