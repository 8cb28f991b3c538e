#include "app/report/breakdown.h"

#include <algorithm>
#include <map>

#include "base/statistics.h"

namespace headway::app {
namespace {

struct Sums {
  double predicted = 0, flops = 0, bytes = 0, ms = 0;
  std::map<sim::Bound, double> bounds;
};

// Milliseconds a step of each op: the median over the steps of each task's time, summed over tasks, so that one slow
// step does not count.
std::map<std::string, double> measured_ms(const trace::Timeline& timeline, std::int64_t steps) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<double>> samples;
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> category;
  for (const trace::Span& span : timeline.spans) {
    samples[{span.task, span.micro_batch}].push_back(span.duration.value * 1e3);
    category[{span.task, span.micro_batch}] = span.category;
  }
  std::map<std::string, double> result;
  for (const auto& [task, values] : samples) {
    result[category[task]] += median(values) * static_cast<double>(values.size()) / static_cast<double>(steps);
  }
  return result;
}

}  // namespace

std::vector<record::BreakdownRow> make_breakdown(const schedule::Schedule& schedule, const trace::Timeline* measured,
                                                 std::int64_t steps, const trace::Timeline* predicted,
                                                 const sim::CostModel* model) {
  std::map<std::string, Sums> ops;
  for (const schedule::Item& item : schedule.programs.at(0).items) {
    for (const schedule::Task& task : schedule.segments.at(static_cast<std::size_t>(item.segment)).tasks) {
      const graph::Node& node = schedule.graph.node(task.node);
      const graph::OpCost cost = schedule.graph.cost(node);
      Sums& sums = ops[std::string(node.op->name())];
      sums.flops += cost.flops.value;
      sums.bytes += static_cast<double>((cost.read + cost.written).value);
      if (model != nullptr) {
        const sim::Price price = model->price(schedule.graph, node);
        sums.bounds[price.bound] += price.time.value;
      }
    }
  }
  if (predicted != nullptr) {
    for (const trace::Span& span : predicted->spans) ops[span.category].predicted += span.duration.value * 1e3;
  }
  if (measured != nullptr) {
    for (const auto& [op, ms] : measured_ms(*measured, steps)) ops[op].ms = ms;
  }

  double total = 0;
  std::vector<record::BreakdownRow> rows;
  for (const auto& [op, sums] : ops) {
    record::BreakdownRow row;
    row.op = op;
    row.ms = measured != nullptr ? sums.ms : sums.predicted;
    if (predicted != nullptr) row.predicted_ms = sums.predicted;
    row.flops = sums.flops;
    row.bytes = sums.bytes;
    const auto largest = std::max_element(sums.bounds.begin(), sums.bounds.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    if (largest != sums.bounds.end()) row.bound = sim::name_of(largest->first);
    total += row.ms;
    rows.push_back(std::move(row));
  }
  for (record::BreakdownRow& row : rows) row.share = total > 0 ? row.ms / total : 0;
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return rows;
}

}  // namespace headway::app
