// linear and matmul with operands of bf16: multiplied exactly, summed in f32, the result in f32.
#pragma once

#include <memory>

#include "backend/cpu/cpu_kernel.h"

namespace headway::backend {

std::unique_ptr<CpuKernel> prepare_linear_bf16(const KernelRequest& request);
std::unique_ptr<CpuKernel> prepare_matmul_bf16(const KernelRequest& request);

}  // namespace headway::backend
