#include "backend/cpu/onednn.h"

#include <omp.h>

#include <unordered_map>

#include "backend/cpu/cpu_kernel.h"

namespace headway::backend::onednn {

const dnnl::engine& engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

ForOneThread::ForOneThread() : before_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}

ForOneThread::~ForOneThread() {
  omp_set_num_threads(before_);
}

void execute(const dnnl::primitive& primitive, std::initializer_list<Operand> operands) {
  std::unordered_map<int, dnnl::memory> memories;
  for (const Operand& operand : operands) {
    // oneDNN reads sources only; its interface has one kind of memory.
    memories.emplace(operand.argument, dnnl::memory(operand.desc, engine(), const_cast<void*>(operand.data)));
  }
  dnnl::stream stream(engine());
  primitive.execute(stream, memories);
}

std::int64_t padded_bytes(const dnnl::memory::desc& desc) {
  return divide_up(static_cast<std::int64_t>(desc.get_size()), 64) * 64;
}

}  // namespace headway::backend::onednn
