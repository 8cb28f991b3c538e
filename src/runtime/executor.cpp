#include "runtime/executor.h"

#include <fmt/core.h>

#include <cmath>

#include "base/clock.h"
#include "base/error.h"

namespace headway::runtime {

std::vector<Bytes> PreparedKernels::workspace() const {
  std::vector<Bytes> sizes;
  for (const auto& kernel : kernels) sizes.push_back(kernel ? kernel->workspace() : Bytes(0));
  return sizes;
}

PreparedKernels prepare_kernels(const graph::Graph& graph, backend::Device& device) {
  PreparedKernels prepared;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op->is_view()) {
      prepared.kernels.push_back(nullptr);
      continue;
    }
    const std::vector<graph::TensorType> inputs = graph.input_types(node), outputs = graph.output_types(node);
    prepared.kernels.push_back(device.prepare({*node.op, node.attributes, inputs, outputs}));
  }
  return prepared;
}

struct Executor::Launch {
  const backend::Kernel* kernel = nullptr;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::byte* workspace = nullptr;
  const graph::Node* node = nullptr;
  std::int32_t stream = 0;

  backend::KernelArgs args() const { return {inputs, outputs, workspace}; }
};

Executor::Executor(schedule::Schedule schedule, PreparedKernels kernels, backend::Device& device)
    : schedule_(std::move(schedule)), kernels_(std::move(kernels)), device_(device), stream_(device.make_stream()) {
  owned_ = device_.allocate(schedule_.arena());
  arena_ = owned_->data();
  step_base_ = arena_ + schedule_.persistent.value;
  own_ = arena_;
  bind();
}

Executor::Executor(schedule::Schedule schedule, PreparedKernels kernels, backend::Device& device, Executor& owner)
    : schedule_(std::move(schedule)), kernels_(std::move(kernels)), device_(device), stream_(device.make_stream()) {
  // Offsets up to shared_ are the owner's parameters; everything above is moved behind the owner's persistent region.
  for (const graph::Parameter& parameter : schedule_.graph.parameters()) {
    const std::string& name = schedule_.graph.value(parameter.value).name;
    const auto place = [&](const schedule::Schedule& plan, graph::ValueId value) -> const schedule::Buffer& {
      return plan.buffers.at(static_cast<std::size_t>(plan.buffer_of_value.at(static_cast<std::size_t>(value))));
    };
    const schedule::Buffer& mine = place(schedule_, parameter.value);
    const graph::ValueId theirs_id = owner.schedule_.graph.find(name);
    HEADWAY_CHECK(theirs_id != graph::kNoValue, fmt::format("the owner has no parameter {}", name));
    const schedule::Buffer& theirs = place(owner.schedule_, theirs_id);
    HEADWAY_CHECK(mine.offset == theirs.offset && mine.size == theirs.size,
                  fmt::format("parameter {} lies elsewhere in the owner's arena", name));
    shared_ = std::max(shared_, (mine.offset + mine.size).value);
  }
  shared_ = (shared_ + 63) / 64 * 64;
  const std::int64_t own = schedule_.persistent.value - shared_ + schedule_.slot_size.value * schedule_.slots;
  const std::int64_t room = owner.schedule_.arena().value - owner.schedule_.persistent.value;
  arena_ = owner.arena_;
  own_ = arena_ + owner.schedule_.persistent.value;
  if (own > room) {
    owned_ = device_.allocate(Bytes(own));
    own_ = owned_->data();
  }
  step_base_ = own_ + (schedule_.persistent.value - shared_);
  bind();
}

Executor::~Executor() = default;

std::byte* Executor::address(schedule::BufferId buffer, std::int64_t slot) const {
  const schedule::Buffer& place = schedule_.buffers.at(static_cast<std::size_t>(buffer));
  if (place.region == schedule::Region::kStep)
    return step_base_ + slot * schedule_.slot_size.value + place.offset.value;
  return place.offset.value < shared_ ? arena_ + place.offset.value : own_ + (place.offset.value - shared_);
}

void Executor::bind() {
  for (const schedule::Segment& segment : schedule_.segments) {
    for (std::int64_t slot = 0; slot < schedule_.slots; ++slot) {
      std::vector<Launch>& launches = launches_.emplace_back();
      for (const schedule::Task& task : segment.tasks) {
        Launch& launch = launches.emplace_back();
        launch.kernel = kernels_.kernels.at(static_cast<std::size_t>(task.node)).get();
        launch.node = &schedule_.graph.node(task.node);
        launch.stream = task.stream;
        for (const schedule::BufferId input : task.inputs) launch.inputs.push_back(address(input, slot));
        for (const schedule::BufferId output : task.outputs) launch.outputs.push_back(address(output, slot));
        if (task.workspace != schedule::kNoBuffer) launch.workspace = address(task.workspace, slot);
      }
    }
  }
}

const std::vector<Executor::Launch>& Executor::launches_of(const schedule::Item& item) const {
  return launches_.at(static_cast<std::size_t>(item.segment * schedule_.slots + item.slot));
}

void Executor::run(const schedule::Item& item) {
  const std::vector<Launch>& launches = launches_of(item);
  if (timeline_ == nullptr) {
    for (const Launch& launch : launches) launch.kernel->launch(*stream_, launch.args());
    stream_->synchronize();
    return;
  }
  std::int32_t task = schedule_.first_task(item.segment);
  for (const Launch& launch : launches) {
    const Seconds start = now();
    launch.kernel->launch(*stream_, launch.args());
    stream_->synchronize();
    timeline_->spans.push_back({0, launch.stream, item.micro_batch, task++, launch.node->name,
                                std::string(launch.node->op->name()), start, now() - start});
  }
}

std::string Executor::first_non_finite(const schedule::Item& item) {
  for (const Launch& launch : launches_of(item)) {
    launch.kernel->launch(*stream_, launch.args());
    stream_->synchronize();
    for (std::size_t index = 0; index < launch.outputs.size(); ++index) {
      const graph::Value& value = schedule_.graph.value(launch.node->outputs[index]);
      if (value.type.dtype != DType::kF32) continue;
      const auto* data = static_cast<const float*>(launch.outputs[index]);
      for (std::int64_t element = 0; element < value.type.shape.elements(); ++element) {
        if (!std::isfinite(data[element])) return fmt::format("{} of {}", launch.node->op->name(), launch.node->name);
      }
    }
  }
  return "";
}

std::span<std::byte> Executor::bytes(graph::ValueId value) {
  const schedule::BufferId buffer = schedule_.buffer_of_value.at(static_cast<std::size_t>(value));
  HEADWAY_CHECK(buffer != schedule::kNoBuffer, fmt::format("value %{} has no buffer", value));
  const schedule::Buffer& place = schedule_.buffers.at(static_cast<std::size_t>(buffer));
  HEADWAY_CHECK(place.region == schedule::Region::kPersistent, place.name + " does not live between runs");
  return {address(buffer, 0), static_cast<std::size_t>(place.size.value)};
}

std::span<float> Executor::floats(graph::ValueId value) {
  HEADWAY_CHECK(schedule_.graph.value(value).type.dtype == DType::kF32, "not an f32 value");
  const std::span<std::byte> raw = bytes(value);
  return {reinterpret_cast<float*>(raw.data()), raw.size() / sizeof(float)};
}

}  // namespace headway::runtime
