// A thin layer over SQLite's C interface: statements that close themselves, and errors that say what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace headway::record {

// What an SQLite result code means for the user of this file, with the remedy.
EnvironmentError database_error(const std::filesystem::path& path, int code, const std::string& detail);

// One prepared statement. Parameters are numbered from 1, columns from 0. Every failure is a database_error.
class Statement {
 public:
  Statement(sqlite3* database, const std::filesystem::path& path, std::string_view sql);

  Statement& bind(int parameter, const std::string& text);
  Statement& bind(int parameter, std::int64_t value);

  // Whether there is a row; false at the end.
  bool step();

  std::string text(int column) const;
  std::int64_t integer(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  void check(int code) const;

  sqlite3* database_;
  const std::filesystem::path& path_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace headway::record
