// The one table of CPU kernels, keyed by op and dtype.
#pragma once

#include <memory>
#include <span>

#include "backend/cpu/cpu_kernel.h"

namespace headway::backend {

using PrepareFunction = std::unique_ptr<CpuKernel> (*)(const KernelRequest& request);

struct KernelRow {
  const graph::Op& (*op)();
  DType dtype;  // of the first floating-point operand
  PrepareFunction prepare;
};

// Every row, in the order of kernel_table.cpp.
std::span<const KernelRow> cpu_kernel_table();

}  // namespace headway::backend
