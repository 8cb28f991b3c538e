#include "runtime/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/rng.h"
#include "graph/autodiff.h"
#include "graph/ops/dropout.h"
#include "schedule/build.h"

namespace headway::runtime {
namespace {

// Every value before the loss is finite, so the loss can only be so for a label that is no class.
constexpr const char* kLabelOutOfRange = "the loss alone: a label is outside the model's classes";

schedule::Schedule make_schedule(graph::Graph graph, const PreparedKernels& kernels, std::int64_t micro_batches) {
  schedule::Schedule schedule =
      schedule::build_schedule(std::move(graph), {.micro_batches = micro_batches, .workspace = kernels.workspace()});
  verify(schedule);
  return schedule;
}

// The random stream of parameter p; ops use small numbers.
std::uint32_t stream_of_parameter(std::size_t parameter) {
  return 0x10000000U + static_cast<std::uint32_t>(parameter);
}

void fill_parameter(std::span<float> out, const graph::Initializer& initializer, std::uint64_t seed,
                    std::uint32_t stream) {
  const auto scale = static_cast<float>(initializer.scale);
  for (std::size_t index = 0; index < out.size(); ++index) {
    switch (initializer.kind) {
      case graph::Initializer::Kind::kFill:
        out[index] = scale;
        break;
      case graph::Initializer::Kind::kNormal:
        out[index] = scale * random_normal(seed, stream, 0, index);
        break;
      case graph::Initializer::Kind::kUniform:
        out[index] = scale * (2.0F * uniform_from_bits(random_bits(seed, stream, 0, index)) - 1.0F);
        break;
    }
  }
}

// Far beyond any machine's memory, lists of tiles alone would fill it.
void require_plannable(const graph::Graph& graph) {
  constexpr double kMost = 137e9;
  double elements = 0;
  for (const graph::Parameter& parameter : graph.parameters()) {
    elements += static_cast<double>(graph.value(parameter.value).type.shape.elements());
  }
  if (elements > kMost) {
    throw UserError(fmt::format(
        "model: {:.3g} parameters are more than one rank is planned for, {:.3g}; make it smaller", elements, kMost));
  }
}

}  // namespace

schedule::Schedule plan_training(const ForwardBuilder& build, const SessionOptions& options, backend::Device& device,
                                 PreparedKernels* kernels, std::vector<graph::PassReport>* passes) {
  if (options.accumulate < 1 || options.batch % options.accumulate != 0) {
    throw UserError(fmt::format("train.accumulate: {} micro-batches do not divide a batch of {} samples",
                                options.accumulate, options.batch));
  }
  graph::Graph graph = build(options.batch / options.accumulate, true);
  require_plannable(graph);
  graph::OptimizerSpec optimizer = options.optimizer;
  optimizer.accumulate = options.accumulate;
  add_optimizer(graph, differentiate(graph, graph.find("loss")), optimizer);
  std::vector<graph::PassReport> reports = run_passes(graph, options.without_passes, options.passes);
  PreparedKernels prepared = prepare_kernels(graph, device);
  schedule::Schedule schedule = make_schedule(std::move(graph), prepared, options.accumulate);
  if (kernels != nullptr) *kernels = std::move(prepared);
  if (passes != nullptr) *passes = std::move(reports);
  return schedule;
}

TrainingSession::TrainingSession(const ForwardBuilder& build, const SessionOptions& options, backend::Device& device)
    : build_(build), options_(options), device_(device) {
  PreparedKernels kernels;
  schedule::Schedule schedule = plan_training(build_, options_, device, &kernels, &passes_);
  executor_ = std::make_unique<Executor>(std::move(schedule), std::move(kernels), device);
  const graph::Graph& final_graph = executor_->schedule().graph;
  input_ = final_graph.find("input");
  target_ = final_graph.find("target");
  loss_ = final_graph.find("loss");
  position_ = final_graph.find("position");
  hyper_ = final_graph.find("hyper");
  grad_norm_ = final_graph.find("grad_norm");
}

void TrainingSession::initialise() {
  const graph::Graph& graph = executor_->schedule().graph;
  for (std::size_t index = 0; index < graph.parameters().size(); ++index) {
    const graph::Parameter& parameter = graph.parameters()[index];
    fill_parameter(executor_->floats(parameter.value), parameter.initializer, options_.seed,
                   stream_of_parameter(index));
  }
  for (std::size_t index = 0; index < graph.values().size(); ++index) {
    const graph::Value& value = graph.values()[index];
    if (value.role != graph::Role::kState || value.producer != graph::kNoNode) continue;
    const std::span<std::byte> bytes = executor_->bytes(static_cast<graph::ValueId>(index));
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }
}

void TrainingSession::write_micro_batch(const data::Batch& batch, std::int64_t step, std::int64_t micro_batch) {
  const auto copy_part = [&](graph::ValueId value, std::size_t field) {
    const std::span<std::byte> to = executor_->bytes(value);
    const std::span<const std::byte> from = batch.field(field);
    HEADWAY_CHECK(from.size() == to.size() * static_cast<std::size_t>(options_.accumulate),
                  fmt::format("field {} has {} bytes for {} micro-batches of {}", field, from.size(),
                              options_.accumulate, to.size()));
    std::memcpy(to.data(), from.data() + to.size() * static_cast<std::size_t>(micro_batch), to.size());
  };
  copy_part(input_, 0);
  copy_part(target_, 1);
  if (position_ == graph::kNoValue) return;
  const std::int64_t samples = options_.batch / options_.accumulate;
  auto* position = reinterpret_cast<std::int64_t*>(executor_->bytes(position_).data());
  position[graph::kSeed] = static_cast<std::int64_t>(options_.seed);
  position[graph::kStep] = step;
  position[graph::kMicroBatch] = micro_batch;
  position[graph::kFirstSample] = micro_batch * samples;
}

void TrainingSession::write_hyper(std::int64_t step, double learning_rate) {
  const std::span<float> hyper = executor_->floats(hyper_);
  const auto count = static_cast<double>(step + 1);
  hyper[graph::kLearningRate] = static_cast<float>(learning_rate);
  hyper[graph::kBias1] = static_cast<float>(1.0 - std::pow(options_.optimizer.beta1, count));
  hyper[graph::kBias2] = static_cast<float>(1.0 - std::pow(options_.optimizer.beta2, count));
}

StepOutcome TrainingSession::step(const data::Batch& batch, std::int64_t step, double learning_rate) {
  write_hyper(step, learning_rate);
  StepOutcome outcome;
  const schedule::Schedule& schedule = executor_->schedule();
  for (const schedule::Item& item : schedule.programs[0].items) {
    const graph::Phase phase = schedule.segments[static_cast<std::size_t>(item.segment)].phase;
    if (phase == graph::Phase::kUpdate && !std::isfinite(outcome.loss)) {
      outcome.finite = false;
      return outcome;
    }
    if (phase == graph::Phase::kForward) write_micro_batch(batch, step, item.micro_batch);
    executor_->run(item);
    if (phase == graph::Phase::kForward) {
      outcome.loss += static_cast<double>(executor_->floats(loss_)[0]) / static_cast<double>(options_.accumulate);
    }
  }
  if (grad_norm_ != graph::kNoValue) outcome.grad_norm = executor_->floats(grad_norm_)[0];
  return outcome;
}

std::string TrainingSession::explain_non_finite(const data::Batch& batch, std::int64_t step) {
  const graph::Graph& graph = executor_->schedule().graph;
  for (const graph::Parameter& parameter : graph.parameters()) {
    const std::span<float> values = executor_->floats(parameter.value);
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
      return fmt::format("parameter {}", graph.value(parameter.value).name);
    }
  }
  const schedule::Schedule& schedule = executor_->schedule();
  for (const schedule::Item& item : schedule.programs[0].items) {
    if (schedule.segments[static_cast<std::size_t>(item.segment)].phase != graph::Phase::kForward) continue;
    write_micro_batch(batch, step, item.micro_batch);
    const std::string first = executor_->first_non_finite(item);
    if (first.starts_with("cross_entropy")) return kLabelOutOfRange;
    if (!first.empty()) return first;
  }
  return "loss";
}

Executor& TrainingSession::evaluator(std::int64_t samples) {
  for (const auto& [count, executor] : evaluators_) {
    if (count == samples) return *executor;
  }
  graph::Graph graph = build_(samples, false);
  run_passes(graph, options_.without_passes, {.precision = options_.passes.precision});
  PreparedKernels kernels = prepare_kernels(graph, device_);
  schedule::Schedule schedule = make_schedule(std::move(graph), kernels, 1);
  evaluators_.emplace_back(samples,
                           std::make_unique<Executor>(std::move(schedule), std::move(kernels), device_, *executor_));
  return *evaluators_.back().second;
}

Evaluation TrainingSession::evaluate(const data::Dataset& dataset, std::int64_t samples, std::int64_t predictions) {
  const std::int64_t whole = std::min(options_.batch / options_.accumulate, samples);
  Evaluation total;
  double loss = 0, correct = 0;
  bool counts = false;
  for (std::int64_t first = 0; first < samples;) {
    const std::int64_t count = std::min(whole, samples - first);
    Executor& part = evaluator(count);
    const graph::Graph& graph = part.schedule().graph;
    std::vector<std::byte*> fields;
    for (const char* name : {"input", "target"}) fields.push_back(part.bytes(graph.find(name)).data());
    for (std::int64_t sample = 0; sample < count; ++sample) {
      std::vector<std::byte*> at;
      for (std::size_t field = 0; field < fields.size(); ++field) {
        at.push_back(fields[field] + sample * bytes_of(dataset.fields()[field]));
      }
      dataset.read(first + sample, at);
    }
    for (const schedule::Item& item : part.schedule().programs[0].items) part.run(item);
    loss += static_cast<double>(part.floats(graph.find("loss"))[0]) * static_cast<double>(count);
    if (const graph::ValueId value = graph.find("correct"); value != graph::kNoValue) {
      counts = true;
      correct += static_cast<double>(part.floats(value)[0]);
    }
    first += count;
  }
  total.samples = samples;
  total.loss = loss / static_cast<double>(samples);
  if (counts) total.accuracy = correct / static_cast<double>(samples * predictions);
  return total;
}

}  // namespace headway::runtime
