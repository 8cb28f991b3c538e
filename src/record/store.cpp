#include "record/store.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "record/sqlite.h"

namespace headway::record {
namespace {

constexpr std::int64_t kVersion = 1;                    // of the tables, in user_version
constexpr std::int64_t kApplication = 0x48445759;       // "HDWY" in application_id: this file is ours
constexpr std::chrono::milliseconds kPatience{10'000};  // an add takes milliseconds; a waiting one gives up after this

std::int64_t number(sqlite3* database, const std::filesystem::path& path, std::string_view sql) {
  Statement statement(database, path, sql);
  return statement.step() ? statement.integer(0) : 0;
}

void run(sqlite3* database, const std::filesystem::path& path, std::string_view sql) {
  Statement statement(database, path, sql);
  while (statement.step()) {
  }
}

// Rolls back unless committed.
class Transaction {
 public:
  Transaction(sqlite3* database, const std::filesystem::path& path) : database_(database), path_(path) {
    run(database_, path_, "BEGIN IMMEDIATE");
  }
  ~Transaction() {
    if (!done_) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit() {
    run(database_, path_, "COMMIT");
    done_ = true;
  }

 private:
  sqlite3* database_;
  const std::filesystem::path& path_;
  bool done_ = false;
};

// SQLite does not call the busy handler while it changes the journal mode, so two processes that open a new file at
// the same moment have to wait here.
void use_write_ahead_log(sqlite3* database, const std::filesystem::path& path) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    char* message = nullptr;
    const int code = sqlite3_exec(database, "PRAGMA journal_mode = WAL", nullptr, nullptr, &message);
    const std::string detail = message ? message : "";
    sqlite3_free(message);
    // A file that may only be read keeps its mode; listing works, and adding will say why it cannot.
    if (code == SQLITE_OK || (code & 0xFF) == SQLITE_READONLY) return;
    if ((code & 0xFF) != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) {
      throw database_error(path, code, detail);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// A path inside a URI: what would end it, and what escapes, are escaped.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char character : path) {
    const bool special = character == '?' || character == '#' || character == '%';
    text += special ? fmt::format("%{:02x}", static_cast<unsigned char>(character)) : std::string(1, character);
  }
  return text;
}

Result result_of(const Statement& row, const std::filesystem::path& path) {
  try {
    return result_from_json(row.text(0), fmt::format("result {}", row.text(1)));
  } catch (const UserError& error) {
    throw database_error(path, SQLITE_CORRUPT, error.what());
  }
}

}  // namespace

void ResultStore::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

// An absolute path, because SQLite reads ":memory:" and "" as databases that are lost on exit.
ResultStore::ResultStore(const std::filesystem::path& path)
    : path_(std::filesystem::absolute(path).lexically_normal()) {
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  if (error) throw database_error(path_, SQLITE_CANTOPEN, error.message());
  const bool writable = ::access(path_.parent_path().c_str(), W_OK) == 0;
  if (!writable && std::filesystem::exists(path_, error)) {
    // Nothing can change there: no log, no locks.
    open_file("file:" + escaped(path_.string()) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  } else {
    open_file(path_.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  }
  prepare_file();
}

void ResultStore::open_file(const std::string& name, int flags) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &database, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) throw database_error(path_, code, database ? sqlite3_errmsg(database) : "out of memory");
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, static_cast<int>(kPatience.count()));
}

void ResultStore::prepare_file() {
  sqlite3* database = database_.get();
  // Whose file it is is asked before the first write to it.
  if (number(database, path_, "PRAGMA application_id") != kApplication) make_tables();
  const std::int64_t version = number(database, path_, "PRAGMA user_version");
  if (version != kVersion) {
    throw EnvironmentError(
        fmt::format("result store {}: has version {}, this program knows version {}; use the Headway that wrote it, or "
                    "move it away (mv '{}' '{}.old') and a new one will be made",
                    path_.string(), version, kVersion, path_.string(), path_.string()));
  }
  use_write_ahead_log(database, path_);
}

void ResultStore::make_tables() {
  sqlite3* database = database_.get();
  Transaction transaction(database, path_);
  const std::int64_t application = number(database, path_, "PRAGMA application_id");
  if (application == kApplication) return;  // another process made them meanwhile
  const bool empty = application == 0 && number(database, path_, "SELECT count(*) FROM sqlite_schema") == 0 &&
                     number(database, path_, "PRAGMA user_version") == 0;
  if (!empty) throw database_error(path_, SQLITE_NOTADB, "an SQLite file of another program");
  run(database, path_,
      "CREATE TABLE results (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, time TEXT NOT NULL, "
      "kind TEXT NOT NULL, workload TEXT NOT NULL, json TEXT NOT NULL)");
  run(database, path_, fmt::format("PRAGMA application_id = {}", kApplication));
  run(database, path_, fmt::format("PRAGMA user_version = {}", kVersion));
  transaction.commit();
}

void ResultStore::add(const Result& result) {
  HEADWAY_CHECK(!result.id.empty() && !result.kind.empty(), fmt::format("id '{}' kind '{}'", result.id, result.kind));
  Transaction transaction(database_.get(), path_);
  Statement known(database_.get(), path_, "SELECT 1 FROM results WHERE id = ?1");
  if (known.bind(1, result.id).step()) {
    throw UserError(fmt::format("result store {}: result {} is stored already", path_.string(), result.id));
  }
  Statement insert(database_.get(), path_,
                   "INSERT INTO results (id, time, kind, workload, json) VALUES (?1, ?2, ?3, ?4, ?5)");
  insert.bind(1, result.id).bind(2, result.time).bind(3, result.kind).bind(4, result.workload);
  insert.bind(5, to_json(result, -1)).step();
  transaction.commit();
}

std::vector<Result> ResultStore::list(const ResultFilter& filter, std::int64_t* unreadable) const {
  Statement rows(database_.get(), path_,
                 "SELECT json, id FROM results WHERE (?1 = '' OR kind = ?1) AND (?2 = '' OR workload = ?2) "
                 "ORDER BY seq DESC LIMIT ?3");
  rows.bind(1, filter.kind).bind(2, filter.workload).bind(3, filter.limit > 0 ? filter.limit : -1);
  std::vector<Result> results;
  while (rows.step()) {
    try {
      results.push_back(result_of(rows, path_));
    } catch (const EnvironmentError&) {
      if (unreadable == nullptr) throw;
      ++*unreadable;
    }
  }
  return results;
}

Result ResultStore::get(const std::string& id) const {
  if (id.empty()) throw UserError("the id of a result is empty; `headway results` lists them");
  // An id that is all of what was asked for comes first, should it also begin another.
  Statement rows(
      database_.get(), path_,
      "SELECT json, id FROM results WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC, seq LIMIT 2");
  rows.bind(1, id);
  if (!rows.step()) {
    throw UserError(
        fmt::format("result store {}: no result '{}'; `headway results` lists them", path_.string(), shown(id)));
  }
  Result result = result_of(rows, path_);
  if (result.id != id && rows.step()) {
    throw UserError(fmt::format("result store {}: '{}' begins more than one id ({}, {}); give more of it",
                                path_.string(), shown(id), result.id, rows.text(1)));
  }
  return result;
}

std::optional<Result> ResultStore::last(const ResultFilter& filter) const {
  const std::vector<Result> newest = list({filter.kind, filter.workload, 1});
  return newest.empty() ? std::nullopt : std::optional(newest.front());
}

}  // namespace headway::record
