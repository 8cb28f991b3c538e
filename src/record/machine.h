// The machine a result was measured on, without its name or its owner's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headway::record {

// A field without a value is one that the system does not tell (containers hide some).
struct Machine {
  std::string cpu;                        // model name, e.g. "Intel(R) Xeon(R) Platinum 8488C"
  std::string architecture;               // "x86_64"
  std::int64_t cores = 0;                 // physical cores that this process may use
  std::int64_t cpus = 0;                  // logical processors that this process may use
  std::optional<std::int64_t> sockets;    // that hold them
  std::vector<std::string> features;      // what decides the speed of arithmetic: "avx2", "avx512f", "amx_bf16"
  std::optional<std::int64_t> l1d_bytes;  // one cache of each level, not their sum
  std::optional<std::int64_t> l2_bytes;
  std::optional<std::int64_t> l3_bytes;
  std::optional<std::int64_t> memory_bytes;
  std::string kernel;  // "Linux 6.1.0-18-amd64"

  bool operator==(const Machine&) const = default;
};

// This machine, from /proc and /sys under `root` (another root is for tests).
Machine describe_machine(const std::filesystem::path& root = "/");

}  // namespace headway::record
