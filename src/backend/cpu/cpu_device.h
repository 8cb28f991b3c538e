// The CPU backend: one pinned thread pool, oneDNN for products and convolutions, Highway for the rest.
#pragma once

#include <memory>

#include "backend/device.h"

namespace headway::backend {

// A CPU device with `threads` threads (the caller is one of them); 0 means one per allowed core.
// UserError when more threads are asked for than cores are allowed.
std::unique_ptr<Device> open_cpu_device(int threads);

}  // namespace headway::backend
