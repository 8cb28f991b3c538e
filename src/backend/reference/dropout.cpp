#include "graph/ops/dropout.h"

#include "backend/reference/functions.h"
#include "base/rng.h"

namespace headway::backend::reference {

void dropout(const Call& call) {
  const auto attributes = graph::DropoutAttributes::from(call.attributes);
  const Tensor& x = call.inputs[0];
  const Tensor& position = call.inputs[1];
  if (x.empty()) return;
  const auto seed = static_cast<std::uint64_t>(position[graph::kSeed]);
  const auto step = static_cast<std::uint32_t>(position[graph::kStep]);
  const auto first_sample = static_cast<std::uint64_t>(position[graph::kFirstSample]);
  const std::uint64_t elements_per_sample = x.size() / static_cast<std::uint64_t>(call.in_shape(0)[0]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t element = first_sample * elements_per_sample + i;
    const double uniform =
        uniform_from_bits(random_bits(seed, static_cast<std::uint32_t>(attributes.stream), step, element));
    call.outputs[0][i] = uniform >= attributes.p ? x[i] / (1 - attributes.p) : 0;
  }
}

}  // namespace headway::backend::reference
