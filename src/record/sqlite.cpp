#include "record/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>

namespace headway::record {

EnvironmentError database_error(const std::filesystem::path& path, int code, const std::string& detail) {
  const std::string file = path.string();
  const auto error = [&](std::string_view what, std::string_view remedy) {
    return EnvironmentError(fmt::format("result store {}: {} ({}); {}", file, what, detail, remedy));
  };
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return error("is damaged or not a result store",
                   fmt::format("move it away (mv '{}' '{}.damaged') and a new one will be made", file, file));
    case SQLITE_FULL:
      return error("the disk is full, so nothing was stored", "free some space and store again");
    case SQLITE_IOERR:
      return error("cannot be read or written", "check the disk and its free space");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return error("cannot be opened for writing",
                   "check the permissions of file and folder, or choose another folder with HEADWAY_HOME");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error("another process has locked it", "wait for that process and store again");
    default:
      return error("failed", "check the file and its disk");
  }
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* database, const std::filesystem::path& path, std::string_view sql)
    : database_(database), path_(path) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  check(code);
}

Statement& Statement::bind(int parameter, const std::string& text) {
  check(sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), parameter, value));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) check(code);
  return false;
}

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return text ? std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)) : "";
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) throw database_error(path_, code, sqlite3_errmsg(database_));
}

}  // namespace headway::record
