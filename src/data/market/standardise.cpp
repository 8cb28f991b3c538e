#include "data/market/standardise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/market/standardise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headway::data::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void Standardise(const float* HWY_RESTRICT in, const float* HWY_RESTRICT mean, const float* HWY_RESTRICT scale,
                 std::int64_t count, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto centred = hn::Sub(hn::LoadU(tag, in + i), hn::LoadU(tag, mean + i));
    hn::StoreU(hn::Mul(centred, hn::LoadU(tag, scale + i)), tag, out + i);
  }
  for (; i < count; ++i) out[i] = (in[i] - mean[i]) * scale[i];
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace headway::data::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headway::data {

HWY_EXPORT(Standardise);

void standardise(const float* in, const float* mean, const float* scale, std::int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(Standardise)(in, mean, scale, count, out);
}

}  // namespace headway::data
#endif  // HWY_ONCE
