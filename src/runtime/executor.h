// Executor: follows a Schedule on a device. All choices were made before; a run only launches.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"
#include "schedule/schedule.h"
#include "trace/timeline.h"

namespace headway::runtime {

// The kernels of a graph, by node; null for views. UserError when the device lacks one.
struct PreparedKernels {
  std::vector<std::unique_ptr<backend::Kernel>> kernels;

  // The workspace table that build_schedule wants.
  std::vector<Bytes> workspace() const;
};
PreparedKernels prepare_kernels(const graph::Graph& graph, backend::Device& device);

class Executor {
 public:
  // Allocates an arena of exactly schedule.arena() bytes, zeroed.
  Executor(schedule::Schedule schedule, PreparedKernels kernels, backend::Device& device);

  // A second program over the first one's memory (an evaluation beside training): its parameters must be the first
  // persistent buffers of both, at equal offsets (InternalError otherwise); the rest of its persistent region and its
  // slot are laid over the other's slot, so both must not be in the middle of a step. Where that has no room (a tiny
  // model) it gets memory of its own.
  Executor(schedule::Schedule schedule, PreparedKernels kernels, backend::Device& device, Executor& owner);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const schedule::Schedule& schedule() const { return schedule_; }

  // Runs one item of the program to its end.
  void run(const schedule::Item& item);

  // Runs a segment task by task and returns the name of the first output with a value that is not finite, or "".
  std::string first_non_finite(const schedule::Item& item);

  // Host access to a persistent value (inputs, parameters, states, outputs) by name or id, between runs.
  std::span<std::byte> bytes(graph::ValueId value);
  std::span<float> floats(graph::ValueId value);

  // From now on spans of every task are appended to `timeline` (null: none). Costs two clock reads a task.
  void record(trace::Timeline* timeline) { timeline_ = timeline; }

 private:
  struct Launch;  // kernel and bound operands of one task in one slot

  void bind();
  const std::vector<Launch>& launches_of(const schedule::Item& item) const;
  std::byte* address(schedule::BufferId buffer, std::int64_t slot) const;

  schedule::Schedule schedule_;
  PreparedKernels kernels_;
  backend::Device& device_;
  std::unique_ptr<backend::Stream> stream_;
  std::unique_ptr<backend::Buffer> owned_;
  std::byte* arena_ = nullptr;
  std::byte* step_base_ = nullptr;
  std::int64_t shared_ = 0;                    // persistent offsets below this are the owner's, at the owner's place
  std::byte* own_ = nullptr;                   // where persistent offsets from shared_ on begin
  std::vector<std::vector<Launch>> launches_;  // by segment * slots + slot
  trace::Timeline* timeline_ = nullptr;
};

}  // namespace headway::runtime
