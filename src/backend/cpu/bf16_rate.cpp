#include "backend/cpu/bf16_rate.h"

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>

#include "backend/cpu/onednn.h"
#include "backend/cpu/tile_kernel.h"

namespace headway::backend {
namespace {

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::kBF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

// A primitive on a slice of input 0 against all of input 1 into a slice of output 0; one slice a tile.
template <class Primitive>
class SlicedKernel final : public CpuKernel {
 public:
  using Description = typename Primitive::primitive_desc;

  SlicedKernel(const Description& description, std::int64_t tiles, int weights)
      : CpuKernel({tiles}),
        primitive_(description),
        source_(description.src_desc()),
        weights_(description.weights_desc()),
        result_(description.dst_desc()),
        scratchpad_(description.scratchpad_desc()),
        weights_argument_(weights),
        tiles_(tiles) {}

  Bytes workspace() const override { return Bytes(tiles_ * onednn::padded_bytes(scratchpad_)); }
  std::string variant() const override { return "onednn"; }

  void run(std::size_t, std::int64_t tile, const KernelArgs& args) const override {
    const auto slice = [tile](const dnnl::memory::desc& desc) {
      return static_cast<std::int64_t>(desc.get_size()) * tile;
    };
    onednn::execute(primitive_,
                    {{DNNL_ARG_SRC, source_, input<std::byte>(args, 0) + slice(source_)},
                     {weights_argument_, weights_, input<std::byte>(args, 1)},
                     {DNNL_ARG_DST, result_, output<std::byte>(args, 0) + slice(result_)},
                     {DNNL_ARG_SCRATCHPAD, scratchpad_, args.workspace + tile * onednn::padded_bytes(scratchpad_)}});
  }

 private:
  Primitive primitive_;
  dnnl::memory::desc source_, weights_, result_, scratchpad_;
  int weights_argument_;
  std::int64_t tiles_;
};

template <class Primitive, class Describe>
std::unique_ptr<Kernel> sliced(std::int64_t tiles, Describe describe) {
  const onednn::ForOneThread one;
  try {
    return std::make_unique<SlicedKernel<Primitive>>(describe(), tiles, DNNL_ARG_WEIGHTS);
  } catch (const dnnl::error&) {
    return nullptr;  // not on this processor
  }
}

}  // namespace

std::unique_ptr<Kernel> make_empty_kernel(int threads) {
  return tile_kernel({threads}, Bytes(0), [](std::size_t, std::int64_t, const KernelArgs&) {});
}

std::unique_ptr<Kernel> make_copy_kernel(int threads, Bytes bytes, std::int64_t passes) {
  // A piece is small enough for ordinary stores, as our kernels make them.
  constexpr std::int64_t kPiece = 256 * 1024;
  const std::int64_t share = divide_up(bytes.value, threads);
  return tile_kernel({threads}, Bytes(0), [=](std::size_t, std::int64_t tile, const KernelArgs& args) {
    const std::int64_t begin = std::min(bytes.value, tile * share), end = std::min(bytes.value, begin + share);
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      for (std::int64_t at = begin; at < end; at += kPiece) {
        std::memcpy(output<std::byte>(args, 0) + at, input<std::byte>(args, 0) + at,
                    static_cast<std::size_t>(std::min(kPiece, end - at)));
      }
      asm volatile("" ::: "memory");
    }
  });
}

std::unique_ptr<Kernel> make_product_kernel(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                                            std::int64_t tiles) {
  using dnnl::memory;
  return sliced<dnnl::matmul>(tiles, [&] {
    const memory::desc x({m / tiles, k}, type_of(dtype), memory::format_tag::ab);
    const memory::desc w({k, n}, type_of(dtype), memory::format_tag::ba);
    const memory::desc y({m / tiles, n}, type_of(dtype), memory::format_tag::ab);
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(x, w, y), onednn::user_scratchpad(), onednn::engine());
  });
}

std::unique_ptr<Kernel> make_conv_kernel(DType dtype, std::int64_t batch, std::int64_t size, std::int64_t in,
                                         std::int64_t out) {
  using dnnl::memory;
  return sliced<dnnl::convolution_forward>(batch, [&] {
    const memory::desc x({1, in, size, size}, type_of(dtype), memory::format_tag::nhwc);
    const memory::desc w({out, in, 3, 3}, type_of(dtype), memory::format_tag::any);
    const memory::desc y({1, out, size, size}, type_of(dtype), memory::format_tag::nhwc);
    return dnnl::convolution_forward::primitive_desc(
        dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x, w, y,
                                        {1, 1}, {1, 1}, {1, 1}),
        onednn::user_scratchpad(), onednn::engine());
  });
}

}  // namespace headway::backend
