#include "bench/probe_point.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/clock.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/statistics.h"

namespace headway::bench {
namespace {

constexpr std::int64_t kAlign = 64;
// Small operands belong to small models, whose step touches little memory: rotation reaches this many times as far as
// the operands of one launch.
constexpr std::int64_t kReach = 8;

std::int64_t padded(Bytes size) {
  return (size.value + kAlign - 1) / kAlign * kAlign;
}

// The room that one launch takes of each ring.
struct Room {
  std::int64_t inputs = 0, outputs = 0, states = 0, indices = 0, bytes = 0;
};

bool in_place(const ProbePoint& point, std::size_t input) {
  return std::any_of(point.aliases.begin(), point.aliases.end(),
                     [&](const graph::Alias& alias) { return alias.input == static_cast<std::int64_t>(input); });
}

Room room_of(const ProbePoint& point) {
  Room room;
  for (std::size_t index = 0; index < point.inputs.size(); ++index) {
    const graph::TensorType& type = point.inputs[index];
    if (type.dtype == DType::kI32) {
      room.indices = std::max(room.indices, padded(type.bytes()));
    } else if (type.dtype == DType::kU8) {
      room.bytes = std::max(room.bytes, padded(type.bytes()));
    } else {
      (in_place(point, index) ? room.states : room.inputs) += padded(type.bytes());
    }
  }
  for (const graph::TensorType& type : point.outputs) room.outputs += padded(type.bytes());
  room.outputs += padded(point.kernel->workspace());
  return room;
}

// Numbers like those of training: signed and of order one, or all positive for what holds squares.
void fill(backend::Buffer& buffer, bool positive) {
  constexpr std::int64_t kPattern = 1 << 16;
  auto* values = reinterpret_cast<float*>(buffer.data());
  const std::int64_t count = buffer.size().value / 4;
  for (std::int64_t i = 0; i < std::min(count, kPattern); ++i) {
    const float value = random_normal(1, 0, 0, static_cast<std::uint64_t>(i)) * 0.5F;
    values[i] = positive ? std::fabs(value) + 0.01F : value;
  }
  for (std::int64_t i = kPattern; i < count; i += kPattern) {
    std::memcpy(values + i, values, static_cast<std::size_t>(std::min(kPattern, count - i)) * 4);
  }
}

}  // namespace

std::byte* ProbeMemory::Ring::take(Bytes size) {
  if (next + size.value > reach) next = 0;
  std::byte* place = buffer->data() + next;
  next += padded(size);
  return place;
}

ProbeMemory::ProbeMemory(backend::Device& device, Bytes window, const std::vector<ProbePoint>& points) {
  Room most{window.value, window.value, window.value, kAlign, kAlign};
  for (const ProbePoint& point : points) {
    const Room room = room_of(point);
    most = {std::max(most.inputs, room.inputs), std::max(most.outputs, room.outputs),
            std::max(most.states, room.states), std::max(most.indices, room.indices), std::max(most.bytes, room.bytes)};
  }
  inputs_.buffer = device.allocate(Bytes(most.inputs));
  outputs_.buffer = device.allocate(Bytes(most.outputs));
  states_.buffer = device.allocate(Bytes(most.states));
  indices_ = device.allocate(Bytes(most.indices));
  bytes_ = device.allocate(Bytes(most.bytes));
  positions_ = device.allocate(Bytes(kAlign));
  hyper_ = device.allocate(Bytes(kAlign));
  fill(*inputs_.buffer, false);
  fill(*states_.buffer, true);
  std::memset(outputs_.buffer->data(), 0, static_cast<std::size_t>(most.outputs));
  auto* ids = reinterpret_cast<std::int32_t*>(indices_->data());
  for (std::int64_t i = 0; i < most.indices / 4; ++i) {
    ids[i] = static_cast<std::int32_t>(random_bits(2, 0, 0, static_cast<std::uint64_t>(i)) % 128);
  }
  for (std::int64_t i = 0; i < most.bytes; ++i) {  // places in a window of 2 x 2
    bytes_->data()[i] = static_cast<std::byte>((i * 2654435761) >> 16 & 3);
  }
  const std::int64_t position[4] = {1, 1, 1, 0};     // not the first micro-batch: accumulators add
  const float hyper[4] = {1e-6F, 0.5F, 0.5F, 0.0F};  // a small learning rate: values stay as they are
  std::memcpy(positions_->data(), position, sizeof position);
  std::memcpy(hyper_->data(), hyper, sizeof hyper);
}

std::byte* ProbeMemory::constant(const graph::TensorType& type) {
  if (type.dtype == DType::kI64) return positions_->data();
  if (type.dtype == DType::kU8) return bytes_->data();
  return type.dtype == DType::kI32 ? indices_->data() : nullptr;
}

ProbeMemory::Binding ProbeMemory::bind(const ProbePoint& point) {
  const Room room = room_of(point);
  const auto limit = [&](Ring& ring, std::int64_t own) {
    ring.reach = std::min(ring.buffer->size().value, std::max(own, point.hot ? own : own * kReach));
    if (point.hot) ring.next = 0;
  };
  limit(inputs_, room.inputs);
  limit(outputs_, room.outputs);
  limit(states_, room.states);
  Binding binding;
  std::vector<std::byte*> inputs;
  for (std::size_t index = 0; index < point.inputs.size(); ++index) {
    const graph::TensorType& type = point.inputs[index];
    std::byte* place = constant(type);
    // The hyper-parameters of updates, which are the only ops with operands in place beside accumulation.
    if (place == nullptr && index == 0 && !point.aliases.empty() && !in_place(point, 0)) place = hyper_->data();
    if (place == nullptr) place = (in_place(point, index) ? states_ : inputs_).take(type.bytes());
    inputs.push_back(place);
    binding.inputs.push_back(place);
  }
  for (std::size_t index = 0; index < point.outputs.size(); ++index) {
    std::byte* place = nullptr;
    for (const graph::Alias& alias : point.aliases) {
      if (alias.output == static_cast<std::int64_t>(index)) place = inputs[static_cast<std::size_t>(alias.input)];
    }
    binding.outputs.push_back(place != nullptr ? place : outputs_.take(point.outputs[index].bytes()));
  }
  if (point.kernel->workspace().value > 0) binding.workspace = outputs_.take(point.kernel->workspace());
  return binding;
}

void measure(ProbePoint& point, const ProbePoint& between, ProbeMemory& memory, backend::Stream& stream,
             Seconds least) {
  const auto timed = [&](const ProbePoint& launched) {
    const ProbeMemory::Binding binding = memory.bind(launched);
    const Seconds start = now();
    launched.kernel->launch(stream, binding.args());
    stream.synchronize();
    return (now() - start).value;
  };
  std::vector<double> times;
  const Seconds start = now();
  do {
    if (!point.hot) timed(between);
    times.push_back(timed(point));
  } while (now() - start < least);
  // The first half brought what rotates within the caches into them.
  const std::span<const double> settled = std::span<const double>(times).subspan(times.size() / 2);
  point.samples.push_back(median(settled));
}

}  // namespace headway::bench
