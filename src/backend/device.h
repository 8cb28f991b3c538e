// Where kernels run. The runtime sees only this interface; each backend's folder implements it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "graph/attributes.h"
#include "graph/op.h"

namespace headway::backend {

// The operands of one launch, fixed when the executor is prepared: device addresses, in the order of the node's inputs
// and outputs, and the workspace that the kernel asked for.
struct KernelArgs {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  std::byte* workspace = nullptr;
};

// An ordered queue of work on a device. On a CPU a launch is a function call and the queue is always empty.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;
};

// A node made ready to run on a device: the variant chosen, primitives built, workspace size known. A launch allocates,
// looks up and parses nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Bytes workspace() const { return Bytes(0); }
  virtual void launch(Stream& stream, const KernelArgs& args) const = 0;
  // What was chosen, for reports: "onednn:jit:avx512_core", "highway".
  virtual std::string variant() const { return ""; }
};

struct KernelRequest {
  const graph::Op& op;
  const graph::Attributes& attributes;
  std::span<const graph::TensorType> inputs;
  std::span<const graph::TensorType> outputs;
};

// Memory of a device, freed with the object. Zeroed.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::byte* data() = 0;
  virtual Bytes size() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view kind() const = 0;  // "cpu"
  virtual int threads() const = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  // EnvironmentError with the size when there is not enough memory.
  virtual std::unique_ptr<Buffer> allocate(Bytes size) = 0;
  // UserError "no kernel for conv2d on cpu for bf16" when the table has none.
  virtual std::unique_ptr<Kernel> prepare(const KernelRequest& request) = 0;
};

}  // namespace headway::backend
