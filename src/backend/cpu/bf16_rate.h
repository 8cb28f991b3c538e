// Kernels that only the probe launches: what the machine can do at most, apart from any op of ours.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/device.h"
#include "base/dtype.h"

namespace headway::backend {

// Nothing, on every thread: what a launch costs.
std::unique_ptr<Kernel> make_empty_kernel(int threads);

// `passes` copies of `bytes` from input 0 to output 0, split over all threads.
std::unique_ptr<Kernel> make_copy_kernel(int threads, Bytes bytes, std::int64_t passes);

// y [m, n] = x [m, k] w [n, k]^T by oneDNN, rows cut into `tiles`; null when it has no such product for this dtype on
// this processor.
std::unique_ptr<Kernel> make_product_kernel(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                                            std::int64_t tiles);

// A 3 x 3 convolution of [batch, size, size, in] to `out` channels, padding 1, an image of the batch a tile; null as
// above.
std::unique_ptr<Kernel> make_conv_kernel(DType dtype, std::int64_t batch, std::int64_t size, std::int64_t in,
                                         std::int64_t out);

}  // namespace headway::backend
