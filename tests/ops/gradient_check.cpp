#include "tests/ops/gradient_check.h"

#include <fmt/core.h>

#include <cmath>

#include "backend/reference/reference.h"
#include "graph/autodiff.h"
#include "graph/ops/loss.h"

namespace headway::ops_test {

namespace reference = backend::reference;

graph::ValueId GraphMaker::parameter(const Shape& shape, double low, double high) {
  return parameter_of(shape, random_.tensor(shape, low, high));
}

graph::ValueId GraphMaker::parameter_of(const Shape& shape, Tensor values) {
  const std::string name = fmt::format("p{}", names_++);
  given_[name] = std::move(values);
  return graph_.add_parameter(name, shape, {});
}

graph::ValueId GraphMaker::statistic(const Shape& shape) {
  const std::string name = fmt::format("s{}", names_++);
  given_[name] = random_.tensor(shape, 0.5, 2);
  return graph_.add_statistic(name, shape, 0);
}

graph::ValueId GraphMaker::input(const Shape& shape, double low, double high) {
  const std::string name = fmt::format("x{}", names_++);
  given_[name] = random_.tensor(shape, low, high);
  return graph_.add_input(name, {DType::kF32, shape});
}

graph::ValueId GraphMaker::ids_of(Tensor values) {
  const std::string name = fmt::format("ids{}", names_++);
  const graph::ValueId id = graph_.add_input(name, {DType::kI32, {static_cast<std::int64_t>(values.size())}});
  given_[name] = std::move(values);
  return id;
}

graph::ValueId GraphMaker::ids(const Shape& shape, std::int64_t low, std::int64_t high) {
  const std::string name = fmt::format("ids{}", names_++);
  given_[name] = random_.integers(shape, low, high);
  return graph_.add_input(name, {DType::kI32, shape});
}

void GraphMaker::set_position(std::int64_t seed, std::int64_t step, std::int64_t micro_batch,
                              std::int64_t first_sample) {
  given_["position"] = {static_cast<double>(seed), static_cast<double>(step), static_cast<double>(micro_batch),
                        static_cast<double>(first_sample)};
}

void GraphMaker::give_the_rest() {
  for (const graph::Value& value : graph_.values()) {
    if (value.producer != graph::kNoNode || given_.contains(value.name)) continue;
    if (value.role == graph::Role::kState) given_[value.name] = random_.tensor(value.type.shape, 0.01, 1);
    if (value.name == "hyper") given_[value.name] = {0.01, 0.2, 0.1, 0};
    if (value.name == "position") set_position(5, 2, 1, 3);
  }
}

graph::ValueId GraphMaker::loss_of(graph::ValueId y) {
  return graph::mse(graph_, y, input(graph_.value(y).type.shape));
}

namespace {

constexpr double kStep = 1e-3;
constexpr double kRelative = 1e-6;
constexpr std::size_t kElements = 48;

double loss_at(const graph::Graph& graph, graph::ValueId loss, std::map<std::string, Tensor>& given,
               const std::string& name, std::size_t element, double offset) {
  double& x = given.at(name)[element];
  const double before = x;
  x = before + offset;
  const double value = reference::evaluate(graph, given, graph::Phase::kForward).at(loss)[0];
  x = before;
  return value;
}

double finite_difference(const graph::Graph& graph, graph::ValueId loss, std::map<std::string, Tensor>& given,
                         const std::string& name, std::size_t element) {
  const auto at = [&](double steps) { return loss_at(graph, loss, given, name, element, steps * kStep); };
  return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * kStep);
}

}  // namespace

testing::AssertionResult gradients_match(GraphMaker& maker, graph::ValueId loss, const Tamper& tamper) {
  const graph::Graph forward = maker.graph();
  graph::Graph graph = forward;
  const std::vector<graph::ValueId> gradients = graph::differentiate(graph, loss);
  graph::verify(graph);
  if (tamper.graph) tamper.graph(graph);
  std::map<std::string, Tensor> given = maker.given();
  const reference::Values values = reference::evaluate(graph, given);
  std::vector<Tensor> analytic;
  for (std::size_t index = 0; index < gradients.size(); ++index) {
    const bool trained = graph.parameters()[index].trained;
    if (trained != (gradients[index] != graph::kNoValue)) {
      return testing::AssertionFailure() << "parameter " << index << (trained ? " has no gradient" : " has a gradient");
    }
    analytic.push_back(trained ? values.at(gradients[index]) : Tensor());
  }
  if (tamper.gradients) tamper.gradients(analytic);

  for (std::size_t index = 0; index < analytic.size(); ++index) {
    if (!graph.parameters()[index].trained) continue;
    const graph::Value& parameter = graph.value(graph.parameters()[index].value);
    if (analytic[index].size() != given.at(parameter.name).size()) {
      return testing::AssertionFailure() << parameter.name << ": gradient of another size";
    }
    double largest = 0;
    for (const double element : analytic[index]) largest = std::max(largest, std::fabs(element));
    const std::size_t stride = std::max<std::size_t>(1, analytic[index].size() / kElements);
    for (std::size_t element = 0; element < analytic[index].size(); element += stride) {
      const double expected = finite_difference(forward, loss, given, parameter.name, element);
      const double found = analytic[index][element];
      const double allowed = kRelative * std::fabs(expected) + 1e-8 * largest + 1e-10;
      if (!(std::fabs(found - expected) <= allowed)) {
        return testing::AssertionFailure()
               << fmt::format("d loss / d {}[{}] of {} is {:.12g}, by finite differences {:.12g}\n{}", parameter.name,
                              element, graph::to_string(parameter.type), found, expected, graph::to_string(graph));
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace headway::ops_test
