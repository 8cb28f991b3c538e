#include <array>
#include <cstring>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernel_table.h"
#include "base/thread_pool.h"
#include "tests/ops/kernel_check.h"

namespace headway::ops_test {
namespace {

std::vector<std::pair<const graph::Op*, DType>> cpu_kernels() {
  std::vector<std::pair<const graph::Op*, DType>> kernels;
  for (const backend::KernelRow& row : backend::cpu_kernel_table()) kernels.emplace_back(&row.op(), row.dtype);
  return kernels;
}

int cpu_threads() {
  return backend::open_cpu_device(0)->threads();
}

void cpu_upload(std::byte* device, std::span<const std::byte> host) {
  std::memcpy(device, host.data(), host.size());
}

void cpu_download(std::span<std::byte> host, const std::byte* device) {
  std::memcpy(host.data(), device, host.size());
}

}  // namespace

std::span<const BackendRow> backend_table() {
  static const std::array kRows = {
      BackendRow{"cpu", backend::open_cpu_device, cpu_threads, cpu_kernels, cpu_upload, cpu_download},
  };
  return kRows;
}

}  // namespace headway::ops_test
