// What the tests of this folder share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace headway::data {

// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "headway-data-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// The message of the Error that `action` throws; "" when it throws nothing. Another exception goes on.
template <class Error, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline void expect_mentions(const std::string& text, const std::vector<std::string>& parts) {
  EXPECT_FALSE(text.empty()) << "nothing was thrown";
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

// One sample in memory of exactly the right size.
struct Sample {
  std::vector<std::vector<std::byte>> fields;

  Sample(const Dataset& dataset, std::int64_t index) {
    std::vector<std::byte*> at;
    for (const Field& field : dataset.fields()) {
      at.push_back(fields.emplace_back(static_cast<std::size_t>(bytes_of(field))).data());
    }
    dataset.read(index, at);
  }
  bool operator==(const Sample&) const = default;

  template <class T>
  std::span<const T> as(std::size_t field) const {
    return {reinterpret_cast<const T*>(fields[field].data()), fields[field].size() / sizeof(T)};
  }
};

}  // namespace headway::data
