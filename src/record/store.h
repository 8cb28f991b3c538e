// The stored results of this user, in one SQLite file that several processes may write at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/result.h"

struct sqlite3;

namespace headway::record {

// Empty fields do not restrict. ({.kind = "bench"} compiles without warnings because every field has an initial value.)
struct ResultFilter {
  std::string kind = {};
  std::string workload = {};
  std::int64_t limit = 0;  // 0 = all
};

// Every failure of the file (damaged, not ours, full disk, no permission, locked too long) is an EnvironmentError that
// names it and the remedy; nothing is ever overwritten or dropped to get going. One object per thread.
class ResultStore {
 public:
  // Opens the file; makes it and its folder when there is none.
  explicit ResultStore(const std::filesystem::path& path);

  // Stores a result durably. UserError when its id is stored already.
  void add(const Result& result);

  // Newest first, in the order of storing.
  // Rows that cannot be read (another program wrote to the file) are left out and counted.
  std::vector<Result> list(const ResultFilter& filter = {}, std::int64_t* unreadable = nullptr) const;

  // By id or by a beginning that only one id has. UserError when there is none or more than one.
  Result get(const std::string& id) const;

  // The newest that passes the filter.
  std::optional<Result> last(const ResultFilter& filter = {}) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  void open_file(const std::string& name, int flags);
  void prepare_file();
  void make_tables();

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace headway::record
