// LOBSTER's files into a columnar file. LOBSTER (https://lobsterdata.com; Huang, Polak 2011) rebuilds NASDAQ books from
// ITCH messages. Two CSV files a day, without headers: NAME_message_N.csv has one event a row (seconds after midnight,
// type, order id, size, price, direction), NAME_orderbook_N.csv the book after it (ask price, ask size, bid price, bid
// size for N levels). Prices are dollars x 10,000; an empty level has the price 9999999999 or -9999999999.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "data/market/columnar_writer.h"
#include "data/market/convert.h"
#include "data/market/csv_reader.h"
#include "data/market/simulate.h"

namespace headway::data {
namespace {

constexpr std::int64_t kNoPrice = 9'999'999'999;
constexpr std::size_t kMessageCells = 6;
constexpr std::int64_t kLargestInF32 = 16'777'216;

enum Event : std::int64_t { kSubmit = 1, kReduce = 2, kDelete = 3, kExecute = 4, kHidden = 5, kCross = 6, kHalt = 7 };

struct Level {
  std::int64_t price = 0;
  std::int64_t size = 0;
};

struct Book {
  std::vector<Level> ask, bid;  // from the best on; empty levels left out
};

struct Message {
  double seconds = 0;
  std::int64_t type = 0, size = 0, price = 0, direction = 0;
};

struct DayFiles {
  std::filesystem::path book, message;  // message empty: the order book alone
};

[[noreturn]] void fail(const CsvReader& reader, const std::string& what) {
  throw UserError(fmt::format("{}: row {}: {}", reader.path().string(), reader.line(), what));
}

std::int64_t whole(const CsvReader& reader, std::size_t column, const char* what) {
  const auto value = to_int64(reader.cells()[column]);
  if (!value)
    fail(reader, fmt::format("column {} ({}): '{}' is not a whole number", column + 1, what, reader.cells()[column]));
  return *value;
}

// Pairs by name, in the order of the order-book files.
std::vector<DayFiles> days_of(const std::vector<std::filesystem::path>& inputs) {
  constexpr std::string_view kBook = "_orderbook_", kMessage = "_message_";
  std::map<std::string, std::filesystem::path> messages;
  for (const std::filesystem::path& input : inputs) {
    std::string name = input.filename().string();
    if (const std::size_t at = name.find(kMessage); at != std::string::npos) {
      messages[name.replace(at, kMessage.size(), kBook)] = input;
    }
  }
  std::vector<DayFiles> days;
  for (const std::filesystem::path& input : inputs) {
    const std::string name = input.filename().string();
    if (name.find(kMessage) != std::string::npos) continue;
    const auto message = messages.find(name);
    days.push_back({input, message == messages.end() ? std::filesystem::path() : message->second});
    if (message != messages.end()) messages.erase(message);
  }
  if (!messages.empty()) {
    throw UserError(fmt::format("{}: its order-book file {} is not among the inputs", messages.begin()->second.string(),
                                messages.begin()->first));
  }
  for (const DayFiles& day : days) {
    if (day.message.empty() != days[0].message.empty()) {
      throw UserError(fmt::format("{}: no message file, but {} has one; give all days or none with theirs",
                                  (day.message.empty() ? day : days[0]).book.string(),
                                  (day.message.empty() ? days[0] : day).book.string()));
    }
  }
  return days;
}

// Levels in a row of a file, from its number of cells.
int levels_of(const std::filesystem::path& path) {
  CsvReader reader(path);
  if (!reader.next()) throw UserError(fmt::format("{}: is empty", path.string()));
  const std::size_t cells = reader.cells().size();
  if (cells % 4 != 0 || !to_int64(reader.cells()[0])) {
    fail(reader,
         fmt::format("{} cells from '{}' on; an order book has ask price, ask size, bid price and bid size for each "
                     "level, and no header",
                     cells, reader.cells()[0]));
  }
  return static_cast<int>(cells / 4);
}

class DayConverter {
 public:
  DayConverter(const DayFiles& files, int levels, const ConvertOptions& options, ColumnarWriter& writer,
               ConvertReport& report)
      : files_(files), levels_(levels), options_(options), writer_(writer), report_(report), book_(files.book) {
    if (!files.message.empty()) message_.emplace(files.message);
  }

  void convert() {
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(files_.book));
    constexpr std::int64_t kShownEvery = 4096;
    while (book_.next()) {
      if (message_ && !message_->next()) {
        fail(book_, fmt::format("{} has only {} rows", files_.message.string(), message_->line()));
      }
      const bool usable = read_book();
      if (message_) {
        read_message();
        if (have_before_) check();
      }
      if (usable) store();
      std::swap(now_, before_);
      have_before_ = true;
      if (options_.progress != nullptr && book_.line() % kShownEvery == 0) {
        options_.progress->update("convert", book_.bytes_read() >> 20, bytes >> 20, files_.book.filename().string());
      }
    }
    if (message_ && message_->next()) {
      fail(*message_, fmt::format("{} has only {} rows", files_.book.string(), book_.line()));
    }
  }

 private:
  // False when the row is to be left out.
  bool read_book() {
    const auto cells = book_.cells();
    if (cells.size() != 4 * static_cast<std::size_t>(levels_)) {
      fail(book_, fmt::format("{} cells, {} levels need {}", cells.size(), levels_, 4 * levels_));
    }
    now_.ask.clear();
    now_.bid.clear();
    features_.assign(cells.size(), 0);
    bool usable = true;
    for (int level = 0; level < levels_; ++level) {
      usable = read_level(4 * static_cast<std::size_t>(level), level, now_.ask, 1) && usable;
      usable = read_level(4 * static_cast<std::size_t>(level) + 2, level, now_.bid, -1) && usable;
    }
    if (!now_.ask.empty() && !now_.bid.empty() && now_.ask[0].price <= now_.bid[0].price) {
      fail(book_, fmt::format("the book is crossed: ask {} is not over bid {}", now_.ask[0].price, now_.bid[0].price));
    }
    if (!usable) ++report_.dropped;
    return usable;
  }

  bool read_level(std::size_t column, int level, std::vector<Level>& side, int deeper) {
    const char* name = deeper > 0 ? "ask" : "bid";
    const Level read = {whole(book_, column, name), whole(book_, column + 1, name)};
    if (std::abs(read.price) == kNoPrice) return fill_level(column, level, name, deeper);
    if (read.price <= 0 || read.size <= 0) {
      fail(book_, fmt::format("columns {} and {}: {} price {}, size {}; both must be positive", column + 1, column + 2,
                              name, read.price, read.size));
    }
    if (read.price > kLargestInF32) {
      fail(book_, fmt::format("column {}: price {} is over {}, where f32 has no exact cents", column + 1, read.price,
                              kLargestInF32));
    }
    if (!side.empty() && (read.price - side.back().price) * deeper <= 0) {
      fail(book_, fmt::format("column {}: {} price {} of level {} is not beyond {}", column + 1, name, read.price,
                              level + 1, side.back().price));
    }
    side.push_back(read);
    features_[column] = static_cast<float>(read.price);
    features_[column + 1] = static_cast<float>(read.size);
    return true;
  }

  // An empty level: a missing value. Filled levels go on from the level above, a tick each, with no size.
  bool fill_level(std::size_t column, int level, const char* name, int deeper) {
    constexpr float kTick = 100;
    switch (options_.fill) {
      case Fill::kNone:
        fail(book_, fmt::format("column {}: {} level {} is empty; --fill forward, zero or drop says what to do",
                                column + 1, name, level + 1));
      case Fill::kDrop:
        return false;
      case Fill::kZero:
        if (level == 0) fail(book_, fmt::format("column {}: the {} side is empty; use --fill drop", column + 1, name));
        features_[column] = features_[column - 4] + kTick * static_cast<float>(deeper);
        break;
      case Fill::kForward:
        if (last_.empty()) {
          fail(book_, fmt::format("column {}: {} level {} is empty, and there is no row above to fill it from",
                                  column + 1, name, level + 1));
        }
        features_[column] = last_[column];
        features_[column + 1] = last_[column + 1];
        break;
    }
    report_.filled += 2;
    return true;
  }

  void read_message() {
    const CsvReader& reader = *message_;
    if (reader.cells().size() < kMessageCells) {
      fail(reader, fmt::format("{} cells, a message has {}", reader.cells().size(), kMessageCells));
    }
    const auto seconds = to_double(reader.cells()[0]);
    if (!seconds || !(*seconds >= 0 && *seconds <= 86'400)) {
      fail(reader, fmt::format("column 1 (time): '{}' is not seconds after midnight", reader.cells()[0]));
    }
    if (have_before_ && *seconds < event_.seconds) {
      fail(reader, fmt::format("time {} is before the {} of the row above", *seconds, event_.seconds));
    }
    event_ = {*seconds, whole(reader, 1, "type"), whole(reader, 3, "size"), whole(reader, 4, "price"),
              whole(reader, 5, "direction")};
    if (event_.type < kSubmit || event_.type > kHalt) {
      fail(reader, fmt::format("column 2 (type): {} is no event; they are 1 to 7", event_.type));
    }
    if (event_.type != kHalt && event_.direction != 1 && event_.direction != -1) {
      fail(reader, fmt::format("column 6 (direction): {} is neither 1 (buy) nor -1 (sell)", event_.direction));
    }
  }

  // The size at a price; nothing where the price is deeper than what the row shows.
  std::optional<std::int64_t> size_at(const std::vector<Level>& side, std::int64_t price, int deeper) const {
    for (const Level& level : side) {
      if (level.price == price) return level.size;
    }
    const bool shown_whole = side.size() < static_cast<std::size_t>(levels_);
    if (shown_whole || (side.back().price - price) * deeper > 0) return 0;
    return std::nullopt;
  }

  // The event must be what changed the book: at its price, on its side, by its size.
  void check() const {
    if (event_.type > kExecute) return;  // hidden executions, crosses and halts leave the visible book
    const int deeper = event_.direction == 1 ? -1 : 1;
    const auto before = size_at(deeper < 0 ? before_.bid : before_.ask, event_.price, deeper);
    const auto after = size_at(deeper < 0 ? now_.bid : now_.ask, event_.price, deeper);
    if (!before || !after) return;
    const std::int64_t change = event_.type == kSubmit ? event_.size : -event_.size;
    if (*after - *before == change) return;
    fail(*message_,
         fmt::format("disagrees with {}: event {} changes the {} of {} by {}, the book by {} (from {} to {})",
                     files_.book.string(), event_.type, deeper < 0 ? "bid" : "ask", event_.price, change,
                     *after - *before, *before, *after));
  }

  void store() {
    std::copy(features_.begin(), features_.end(), writer_.row<float>());
    // In double: prices are whole and small.
    *writer_.row<double>() = (static_cast<double>(features_[0]) + static_cast<double>(features_[2])) / 2;
    if (message_) *writer_.row<std::int64_t>() = std::llround(event_.seconds * 1e9);
    writer_.end_row();
    last_ = features_;
  }

  const DayFiles& files_;
  int levels_;
  const ConvertOptions& options_;
  ColumnarWriter& writer_;
  ConvertReport& report_;
  CsvReader book_;
  std::optional<CsvReader> message_;
  Book now_, before_;
  bool have_before_ = false;
  Message event_;
  std::vector<float> features_, last_;
};

}  // namespace

ConvertReport convert_lobster(const ConvertOptions& options) {
  if (!options.types.empty()) throw UserError("--types is for CSV; the columns of LOBSTER's files are known");
  const std::vector<DayFiles> days = days_of(options.inputs);
  const int levels = levels_of(days[0].book);
  const bool with_time = !days[0].message.empty();
  std::vector<std::string> names;
  for (const DayFiles& day : days) names.push_back(day.book.filename().string());
  ColumnarWriter writer(options.output, book_columns(levels, with_time),
                        fmt::format("LOBSTER: {}; prices are dollars x 10,000{}", fmt::join(names, ", "),
                                    with_time ? ", times nanoseconds after midnight" : ""));
  ConvertReport report;
  for (const DayFiles& day : days) {
    writer.begin_segment();
    DayConverter(day, levels, options, writer, report).convert();
  }
  if (writer.rows() == 0) throw UserError(fmt::format("{}: no rows are left", days[0].book.string()));
  if (!with_time)
    report.notes.emplace_back("without message files there are no times, and nothing to check the book against");
  writer.finish();
  return report;
}

}  // namespace headway::data
