#include "backend/cpu/cpu_device.h"

#include <fmt/core.h>
#include <omp.h>
#include <sys/mman.h>

#include "backend/cpu/cpu_kernel.h"
#include "backend/cpu/kernel_table.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"

namespace headway::backend {
namespace {

class CpuStream final : public Stream {
 public:
  explicit CpuStream(ThreadPool& pool) : pool_(pool) {}
  void synchronize() override {}
  ThreadPool& pool() { return pool_; }

 private:
  ThreadPool& pool_;
};

// Anonymous pages, huge where the kernel gives them: fewer TLB misses on arenas of hundreds of megabytes.
class CpuBuffer final : public Buffer {
 public:
  explicit CpuBuffer(Bytes size) : size_(size) {
    if (size.value == 0) return;
    // Pages are only taken when touched, so the kernel would promise more than there is and kill the process later.
    if (size > physical_memory()) {
      throw EnvironmentError(fmt::format("cpu: {} are needed, the machine has {}; make the batch or the model smaller",
                                         format_bytes(size), format_bytes(physical_memory())));
    }
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    mapped_ = static_cast<std::size_t>(size.value);
    const std::size_t reserved = mapped_ + kHugePage;
    void* region =
        ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) {
      throw EnvironmentError(
          fmt::format("cpu: cannot allocate {}; free memory or make the batch smaller", format_bytes(size)));
    }
    region_ = region;
    reserved_ = reserved;
    const auto address = reinterpret_cast<std::uintptr_t>(region);
    data_ = reinterpret_cast<std::byte*>((address + kHugePage - 1) / kHugePage * kHugePage);
    static_cast<void>(::madvise(data_, mapped_, MADV_HUGEPAGE));
  }
  ~CpuBuffer() override {
    if (region_ != nullptr) ::munmap(region_, reserved_);
  }
  CpuBuffer(const CpuBuffer&) = delete;
  CpuBuffer& operator=(const CpuBuffer&) = delete;

  std::byte* data() override { return data_; }
  Bytes size() const override { return size_; }

 private:
  Bytes size_;
  void* region_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t reserved_ = 0;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) : pool_(threads) {
    // oneDNN's own OpenMP team stays at one thread: its primitives are called from our tiles.
    pool_.on_every_worker([] { omp_set_num_threads(1); });
  }

  std::string_view kind() const override { return "cpu"; }
  int threads() const override { return pool_.threads(); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(pool_); }
  std::unique_ptr<Buffer> allocate(Bytes size) override { return std::make_unique<CpuBuffer>(size); }

  std::unique_ptr<Kernel> prepare(const KernelRequest& request) override {
    DType dtype = DType::kF32;
    for (const graph::TensorType& type : request.inputs) {
      if (type.dtype == DType::kF32 || type.dtype == DType::kBF16 || type.dtype == DType::kF64) {
        dtype = type.dtype;
        break;
      }
    }
    for (const KernelRow& row : cpu_kernel_table()) {
      if (&row.op() == &request.op && row.dtype == dtype) return row.prepare(request);
    }
    throw UserError(fmt::format("no kernel for {} on cpu for {}", request.op.name(), name_of(dtype)));
  }

 private:
  ThreadPool pool_;
};

}  // namespace

void CpuKernel::launch(Stream& stream, const KernelArgs& args) const {
  ThreadPool& pool = static_cast<CpuStream&>(stream).pool();
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    pool.parallel(stages_[stage], [&](std::int64_t tile) { run(stage, tile, args); });
  }
}

std::int64_t rows_per_tile(std::int64_t rows, std::int64_t bytes_per_row, std::int64_t target) {
  const std::int64_t fitting = std::max<std::int64_t>(1, target / std::max<std::int64_t>(1, bytes_per_row));
  return std::max<std::int64_t>(1, std::min(rows, fitting));
}

std::unique_ptr<Device> open_cpu_device(int threads) {
  const auto cores = static_cast<int>(allowed_cpus().size());
  if (threads < 0 || threads > cores) {
    throw UserError(fmt::format("threads: {} asked for, this process may use {}", threads, cores));
  }
  return std::make_unique<CpuDevice>(threads == 0 ? cores : threads);
}

}  // namespace headway::backend
