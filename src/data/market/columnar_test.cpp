#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/error.h"
#include "data/market/columnar_file.h"
#include "data/market/columnar_writer.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

const std::vector<Column> kColumns = {
    {"time", DType::kI64}, {"bid", DType::kF32}, {"mid", DType::kF64}, {"ask", DType::kF32}, {"flag", DType::kI32}};

void write_rows(const std::filesystem::path& path, std::int64_t rows, std::int64_t segment_rows) {
  ColumnarWriter writer(path, kColumns, "a test");
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row % segment_rows == 0) writer.begin_segment();
    writer.row<std::int64_t>()[0] = row * 1'000'000'007;
    writer.row<float>()[0] = static_cast<float>(row) - 0.5F;
    writer.row<float>()[1] = static_cast<float>(row) + 0.5F;
    writer.row<double>()[0] = static_cast<double>(row) / 3;
    writer.row<std::int32_t>()[0] = static_cast<std::int32_t>(row % 7);
    writer.end_row();
  }
  writer.finish();
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Columnar, EveryValueComesBackInEveryLength) {
  const TemporaryFolder folder;
  // Around the writer's buffer (1 MiB: 131072 rows of two f32) and the checksum's reach (4 MiB).
  for (const std::int64_t rows : {1, 2, 17, 131'071, 131'073, 600'000}) {
    const auto path = folder.path() / "x.hwc";
    write_rows(path, rows, 1000);
    const ColumnarFile file(path);
    EXPECT_EQ(file.layout().rows, rows);
    EXPECT_EQ(file.layout().columns, kColumns);
    EXPECT_EQ(file.layout().origin, "a test");
    ASSERT_EQ(file.layout().segments.size(), static_cast<std::size_t>((rows + 999) / 1000));
    EXPECT_EQ(file.layout().segments.back(), (rows - 1) / 1000 * 1000);
    file.verify(nullptr);
    const auto time = *file.find("time"), bid = *file.find("bid"), ask = *file.find("ask"), mid = *file.find("mid"),
               flag = *file.find("flag");
    for (std::int64_t row = 0; row < rows; row += std::max<std::int64_t>(1, rows / 1000)) {
      EXPECT_EQ(time[row], static_cast<double>(row) * 1'000'000'007.0);
      EXPECT_EQ(bid[row], static_cast<double>(row) - 0.5);
      EXPECT_EQ(ask[row], static_cast<double>(row) + 0.5);
      EXPECT_EQ(mid[row], static_cast<double>(row) / 3);
      EXPECT_EQ(flag[row], static_cast<double>(row % 7));
    }
    EXPECT_FALSE(file.find("volume"));
    for (const ColumnBlock& block : file.layout().blocks) EXPECT_EQ(block.offset % 64, 0);
  }
}

TEST(Columnar, RowsOfOneBlockAreOneRun) {
  const TemporaryFolder folder;
  write_rows(folder.path() / "x.hwc", 5, 5);
  const ColumnarFile file(folder.path() / "x.hwc");
  const auto block = file.block(DType::kF32);
  const auto* values = reinterpret_cast<const float*>(block.data());
  ASSERT_EQ(block.size(), 5 * 2 * sizeof(float));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values) % 64, 0U);
  for (int value = 0; value < 10; ++value) EXPECT_EQ(values[value], static_cast<float>(value / 2 + value % 2) - 0.5F);
}

TEST(Columnar, DamageIsNamed) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.hwc";
  write_rows(path, 2000, 1000);
  const std::string good = bytes_of_file(path);
  const auto open = [&](std::string content) {
    folder.write("bad.hwc", content);
    return message_of<UserError>([&] { ColumnarFile(folder.path() / "bad.hwc").verify(nullptr); });
  };
  EXPECT_EQ(open(good), "");
  const auto with = [&](std::size_t at, char byte) {
    std::string changed = good;
    changed[at] = byte;
    return changed;
  };
  // A flipped bit is found wherever it is: no byte of the file is unprotected but the padding between blocks.
  expect_mentions(open(with(0, 'X')), {"bad.hwc", "is not a columnar file"});
  expect_mentions(open(with(64, static_cast<char>(good[64] ^ 1))), {"f32", "rows 0 to 1999", "checksum"});
  expect_mentions(open(with(good.size() - 20, '#')), {"the footer is damaged"});
  expect_mentions(open(with(20, 'X')), {"the prologue is damaged"});
  expect_mentions(open(with(12, 2)), {"version 2", "reads version 1"});
  std::string other_order = good;
  std::swap(other_order[8], other_order[11]);
  std::swap(other_order[9], other_order[10]);
  expect_mentions(open(other_order), {"other byte order"});
  for (const std::size_t length : {good.size() - 1, good.size() / 2, std::size_t{64}}) {
    expect_mentions(open(good.substr(0, length)),
                    {"is cut short", std::to_string(length), std::to_string(good.size())});
  }
  expect_mentions(open(good + "x"), {"bytes after its end"});
  expect_mentions(open(good.substr(0, 63)), {"63 bytes are too few"});
  expect_mentions(open(""), {"0 bytes are too few"});
}

TEST(Columnar, FootersThatLieAreRefused) {
  const ColumnarLayout good = {.columns = {{"x", DType::kF32}},
                               .rows = 2,
                               .segments = {0},
                               .origin = "",
                               .blocks = {{DType::kF32, 1, 64, 8, {0}}}};
  const auto decode = [](const ColumnarLayout& layout) {
    const std::string footer = encode_footer(layout);
    std::vector<std::byte> file(128 + footer.size());
    std::memcpy(file.data() + 128, footer.data(), footer.size());
    const auto prologue = encode_prologue(static_cast<std::int64_t>(file.size()), 128, footer);
    std::memcpy(file.data(), prologue.data(), prologue.size());
    return message_of<UserError>([&] { EXPECT_EQ(decode_layout(file, "f"), layout); });
  };
  EXPECT_EQ(decode(good), "");
  const auto changed = [&](auto change) {
    ColumnarLayout layout = good;
    change(layout);
    return decode(layout);
  };
  expect_mentions(changed([](auto& layout) { layout.rows = 3; }), {"makes no sense", "8 bytes for 3 rows"});
  expect_mentions(changed([](auto& layout) { layout.rows = std::int64_t{1} << 62; }), {"makes no sense"});
  expect_mentions(changed([](auto& layout) { layout.blocks[0].offset = 128; }), {"outside the file"});
  expect_mentions(changed([](auto& layout) { layout.blocks[0].offset = 65; }), {"outside the file"});
  expect_mentions(changed([](auto& layout) { layout.blocks[0].width = 2; }), {"do not follow from the columns"});
  expect_mentions(changed([](auto& layout) { layout.blocks[0].checksums = {}; }), {"0 checksums"});
  expect_mentions(changed([](auto& layout) { layout.segments = {0, 2}; }), {"segments out of order"});
  expect_mentions(changed([](auto& layout) { layout.segments = {1}; }), {"begin at row 0"});
  expect_mentions(changed([](auto& layout) { layout.segments = {}; }), {"segments do not cover"});
}

TEST(Columnar, AnUnfinishedFileLeavesTheOldOne) {
  const TemporaryFolder folder;
  const auto path = folder.write("x.hwc", "old");
  {
    ColumnarWriter writer(path, kColumns, "");
    for (int row = 0; row < 300'000; ++row) writer.end_row();
  }
  EXPECT_EQ(bytes_of_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Columnar, ColumnsThatCannotBeWritten) {
  const TemporaryFolder folder;
  const auto failure = [&](std::vector<Column> columns) {
    return message_of<UserError>([&] { ColumnarWriter(folder.path() / "x", std::move(columns), ""); });
  };
  expect_mentions(failure({}), {"no columns"});
  expect_mentions(failure({{"a", DType::kF32}, {"a", DType::kF64}}), {"two columns are named 'a'"});
  expect_mentions(failure({{"", DType::kF32}}), {"without a name"});
  expect_mentions(message_of<UserError>([&] { ColumnarWriter(folder.path(), kColumns, ""); }), {"is a directory"});
  expect_mentions(message_of<UserError>([&] { ColumnarFile(folder.path() / "none"); }), {"no such file"});
}

}  // namespace
}  // namespace headway::data
