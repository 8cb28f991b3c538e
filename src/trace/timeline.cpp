#include "trace/timeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headway::trace {

Seconds Timeline::length() const {
  if (spans.empty()) return Seconds(0);
  Seconds start = spans.front().start, end = start;
  for (const Span& span : spans) {
    start = std::min(start, span.start);
    end = std::max(end, span.start + span.duration);
  }
  return end - start;
}

std::string to_chrome_json(const std::vector<const Timeline*>& timelines) {
  using nlohmann::json;
  json events = json::array();
  int process_base = 0;
  for (const Timeline* timeline : timelines) {
    Seconds origin = timeline->spans.empty() ? Seconds(0) : timeline->spans.front().start;
    std::int32_t ranks = 0;
    for (const Span& span : timeline->spans) {
      origin = std::min(origin, span.start);
      ranks = std::max(ranks, span.rank + 1);
    }
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::string name = timeline->source + " rank " + std::to_string(rank);
      events.push_back(
          {{"ph", "M"}, {"name", "process_name"}, {"pid", process_base + rank}, {"args", {{"name", name}}}});
    }
    for (const Span& span : timeline->spans) {
      events.push_back({{"ph", "X"},
                        {"name", span.name},
                        {"cat", span.category},
                        {"pid", process_base + span.rank},
                        {"tid", span.stream},
                        {"ts", (span.start - origin).value * 1e6},
                        {"dur", span.duration.value * 1e6},
                        {"args", {{"op", span.category}, {"micro_batch", span.micro_batch}}}});
    }
    process_base += ranks;
  }
  return json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump();
}

}  // namespace headway::trace
