#include "data/idx.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/error.h"
#include "data/gzip.h"
#include "data/test_support.h"

namespace headway::data {
namespace {

std::string gzip(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

const std::string kTwoByThree = std::string("\0\0\x08\x02\0\0\0\x02\0\0\0\x03", 12) + "\x01\x02\x03\x04\x05\xff";

class Idx : public ::testing::Test {
 protected:
  std::string failure(const std::string& content, std::int64_t rank = 2) {
    const std::filesystem::path path = folder_.write("file", content);
    const std::string message = message_of<UserError>([&] { read_idx(path, rank); });
    expect_mentions(message, {path.string()});
    return message;
  }
  TemporaryFolder folder_;
};

TEST_F(Idx, ReadsPlainAndPacked) {
  for (const std::string& content : {kTwoByThree, gzip(kTwoByThree)}) {
    const IdxArray array = read_idx(folder_.write("good", content), 2);
    EXPECT_EQ(array.dims, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(array.values, "\x01\x02\x03\x04\x05\xff");
  }
  EXPECT_EQ(read_idx(folder_.write("empty", std::string("\0\0\x08\x01\0\0\0\0", 8)), 1).values, "");
}

TEST_F(Idx, UnpacksMoreThanOnePiece) {
  std::string content(3 << 20, '\0');
  for (std::size_t at = 0; at < content.size(); ++at) content[at] = static_cast<char>(at * at >> 7);
  EXPECT_EQ(read_maybe_gzip(folder_.write("large.gz", gzip(content))), content);
  EXPECT_EQ(read_maybe_gzip(folder_.write("nothing", "")), "");
}

TEST_F(Idx, ExplainsAWrongHeader) {
  expect_mentions(failure(""), {"0 bytes", "too few"});
  expect_mentions(failure(kTwoByThree.substr(0, 11)), {"11 bytes", "too few"});
  expect_mentions(failure(kTwoByThree, 1), {"0x00000802", "0x00000801"});
  std::string floats = kTwoByThree;
  floats[2] = '\x0d';
  expect_mentions(failure(floats), {"unsigned bytes", "0x00000d02"});
  std::string huge = std::string("\0\0\x08\x03", 4) + std::string(12, '\xff');
  expect_mentions(failure(huge, 3), {"overflow"});
}

TEST_F(Idx, ExplainsAWrongLength) {
  expect_mentions(failure(kTwoByThree.substr(0, 17)), {"cut short", "5 bytes", "[2, 3] needs 6"});
  expect_mentions(failure(kTwoByThree + "!"), {"too long", "7 bytes", "[2, 3] needs 6"});
}

TEST_F(Idx, ExplainsABadGzip) {
  const std::string packed = gzip(kTwoByThree);
  for (std::size_t length = 2; length < packed.size(); ++length) {
    expect_mentions(failure(packed.substr(0, length)), {"cut short"});
  }
  expect_mentions(failure(packed + "garbage"), {"7 bytes follow"});
  std::string checksum = packed;
  checksum[checksum.size() - 6] ^= 1;
  expect_mentions(failure(checksum), {"corrupt", "incorrect data check"});
  std::string size = packed;
  size.back() ^= 1;
  expect_mentions(failure(size), {"corrupt", "incorrect length check"});
  std::string method = packed;
  method[2] = 3;
  expect_mentions(failure(method), {"corrupt", "unknown compression method"});
}

TEST_F(Idx, NamesAMissingFile) {
  expect_mentions(message_of<UserError>([&] { read_idx(folder_.path() / "none", 1); }), {"none"});
}

}  // namespace
}  // namespace headway::data
