// oneDNN as our tiles use it: a primitive is made once for one thread, its scratchpad is memory of ours, and it runs on
// the thread that calls it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>

namespace headway::backend::onednn {

// The CPU engine of the process; it has no state.
const dnnl::engine& engine();

// Attributes of every primitive here: the caller gives the scratchpad.
dnnl::primitive_attr user_scratchpad();

// While it lives, primitives made by the calling thread are made for one thread: oneDNN splits its work, and sizes the
// scratchpad, for the number of threads that it sees when a primitive is made.
class ForOneThread {
 public:
  ForOneThread();
  ~ForOneThread();
  ForOneThread(const ForOneThread&) = delete;
  ForOneThread& operator=(const ForOneThread&) = delete;

 private:
  int before_;
};

struct Operand {
  int argument;  // DNNL_ARG_SRC ...
  dnnl::memory::desc desc;
  const void* data;
};

// Runs a primitive on the calling thread.
void execute(const dnnl::primitive& primitive, std::initializer_list<Operand> operands);

// Bytes of a tensor, or of a scratchpad, rounded up to whole cache lines.
std::int64_t padded_bytes(const dnnl::memory::desc& desc);

}  // namespace headway::backend::onednn
